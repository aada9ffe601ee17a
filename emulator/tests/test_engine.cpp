// Who is ordered after whom (order.h, clocks.h), and what is kept of memory (cells.h).
#include "units.h"

using namespace order;
using Threads = std::vector<std::unique_ptr<Context>>;

namespace {

Threads launch(int threads = 2) { // of one CTA
    Threads made;
    begin_on(nullptr, false);
    begin_cluster(0, 1, threads);
    for (int i = 0; i < threads; ++i)
        made.push_back(make_thread(i, 0, threads));
    return made;
}
Epoch access_of(Context &agent) { return enter(agent), epoch_now(); }
bool knows(Context &agent, const Epoch &access) {
    return enter(agent), is_before(access, Space::SHARED);
}
// Whether `to` is after what `from` did, by a release and an acquire.
bool passes(Context &from, Context &to) {
    Carrier carrier;
    const Epoch mine = access_of(from);
    release(carrier);
    enter(to), acquire(carrier);
    return knows(to, mine) && !knows(to, access_of(from));
}
void touch(Cta &cta, Context &agent, std::uint32_t at, std::size_t bytes, bool is_write) {
    enter(agent), access_shared(cta, at, bytes, {is_write, here()});
}

} // namespace

int main() {
    // of more clocks than one keeps apart
    run_case("order: joins", [] {
        const Threads t = launch(40);
        const Epoch first = access_of(*t[0]);
        Carrier carrier;
        for (int i = 0; i < 30; ++i)
            enter(*t[i]), release(carrier);
        EXPECT(!knows(*t[30], first) && knows(*t[0], first), "before the acquire");
        enter(*t[30]), acquire(carrier);
        EXPECT(knows(*t[30], first) && !knows(*t[30], access_of(*t[0])), "up to the release");
        EXPECT(passes(*t[30], *t[31]) && !knows(*t[0], access_of(*t[31])), "one way");
        for (std::uint32_t i = 0; i < 30; ++i)
            EXPECT(knows(*t[31], {first.cluster, i, 1}), "passed on: %u", i);
    });
    run_case("order: operations and their numbers", [] {
        const Threads t = launch();
        const auto make = [&] { return enter(*t[0]), make_operation(*t[0], {0, 0, "copy"}, true); };
        const Epoch before = access_of(*t[0]);
        const auto first = make();
        const Epoch copied = access_of(*first);
        EXPECT(knows(*first, before) && !knows(*first, access_of(*t[0])), "after its issue alone");
        EXPECT(!knows(*t[0], copied) && knows_issue_of(copied), "its issuer has not waited");
        Carrier done;
        enter(*first), release_own(done), end_operation(*first);
        EXPECT(make()->self.agent != first->self.agent, "a number that its issuer does not know");
        enter(*t[0]), acquire(done);
        const auto next = make();
        EXPECT(knows(*t[0], copied) && next->self.agent == first->self.agent, "the number is free");
        EXPECT(!knows(*t[0], access_of(*next)), "at another time");
    });
    // thread 0 writes bytes and thread 1 reads bytes, unordered
    run_case("cells: parts of 1 to 1024 bytes", [] {
        const struct {
            std::uint32_t at, bytes, read, count;
            bool race;
        } rows[] = {{0, 16, 15, 1, 1},     {5, 1, 4, 1, 0},        {5, 1, 6, 2, 0},
                    {4, 2, 5, 1, 1},       {4, 2, 6, 2, 0},        {8, 4, 12, 4, 0},
                    {1020, 4, 1024, 4, 0}, {1008, 32, 1024, 4, 1}, {8, 4, 8, 8, 1},
                    {0, 16, 16, 8, 0},     {0, 1024, 512, 1, 1},   {0, 1024, 1024, 16, 0}};
        for (const auto &row : rows) {
            const Outcome outcome = outcome_of([&] {
                const Threads t = launch();
                Cta cta;
                touch(cta, *t[0], row.at, row.bytes, true);
                touch(cta, *t[1], row.read, row.count, false);
            });
            EXPECT((outcome.status == 1) == row.race, "%u after %u, %u", row.read, row.at,
                   row.bytes);
        }
    });
    // a warp reads a word, and a thread that is after some of the lanes writes it
    run_case("cells: reads by lanes", [] {
        const auto write_after = [](int first) {
            const Threads t = launch(64);
            Cta cta;
            touch(cta, *t[40], 0, 16, true);
            for (int i = 0; i < 32; ++i)
                passes(*t[40], *t[i]), touch(cta, *t[i], 0, 4, false);
            for (int i = first; i < 32; ++i)
                passes(*t[i], *t[40]);
            touch(cta, *t[40], 0, 16, true);
        };
        write_after(0);
        expect_mistake("race", "thread 0 of CTA 0 (warp 0, lane 0) reads", [&] { write_after(1); });
    });
    return test_result();
}
