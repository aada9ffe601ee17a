// Who is ordered after whom (order.h, clocks.h), and what is kept of memory (cells.h).
#include "units.h"

using namespace order;

namespace {

using Threads = std::vector<std::unique_ptr<Context>>;

// A cluster of the launch that runs.
Threads make_cluster(int ctas = 1, int threads = 2) {
    Threads made;
    begin_cluster(0, 1, ctas * threads);
    for (int i = 0; i < ctas * threads; ++i)
        made.push_back(make_thread(i % threads, i / threads, threads));
    return made;
}

Threads launch(const void *stream = nullptr, bool early = false, int ctas = 1, int threads = 2) {
    begin_on(stream, early);
    return make_cluster(ctas, threads);
}

Epoch access_of(Context &agent) { return enter(agent), epoch_now(); }
bool knows(Context &agent, const Epoch &access, Space space = Space::SHARED) {
    return enter(agent), is_before(access, space);
}
void pass(Context &from, Context &to, Scope released = Scope::SYS, Scope acquired = Scope::SYS,
          bool weak = false) {
    Carrier carrier;
    enter(from), release(carrier, released, weak);
    enter(to), acquire(carrier, acquired);
}

void releases() {
    const Threads t = launch(nullptr, false, 1, 40);
    const Epoch first = access_of(*t[0]);
    Carrier carrier;
    for (int i = 0; i < 30; ++i) // more than a clock keeps apart
        enter(*t[i]), release(carrier);
    const Epoch later = access_of(*t[0]);
    EXPECT(!knows(*t[30], first) && knows(*t[0], first), "before the acquire");
    enter(*t[30]), acquire(carrier);
    EXPECT(knows(*t[30], first) && !knows(*t[30], later), "the release is in between");
    pass(*t[30], *t[31]);
    for (int i = 0; i < 30; ++i)
        EXPECT(knows(*t[31], {first.cluster, std::uint32_t(i), 1}), "passed on: %d", i);
    EXPECT(!knows(*t[0], access_of(*t[31])), "the other way");
}

void scopes() {
    const Threads near = launch(nullptr, false, 2, 2), far = make_cluster(2, 2);
    const auto is_passed = [&](Context &to, Scope released, Scope acquired) {
        const Epoch mine = access_of(*near[0]);
        pass(*near[0], to, released, acquired);
        return knows(to, mine);
    };
    EXPECT(is_passed(*near[1], Scope::CTA, Scope::CTA), "within a CTA");
    EXPECT(!is_passed(*near[2], Scope::CTA, Scope::SYS) &&
               !is_passed(*near[2], Scope::SYS, Scope::CTA),
           "a CTA's scope lacks the other CTA");
    EXPECT(is_passed(*near[3], Scope::CLUSTER, Scope::GPU), "within a cluster");
    EXPECT(!is_passed(*far[0], Scope::CLUSTER, Scope::SYS), "a cluster's lacks the other cluster");
    EXPECT(is_passed(*far[1], Scope::GPU, Scope::SYS), "between clusters");
    const Epoch theirs = access_of(*near[0]);
    pass(*near[0], *far[2]), pass(*far[2], *near[2]);
    EXPECT(knows(*near[2], theirs), "there and back");
    const Epoch weak = access_of(*near[1]);
    pass(*near[1], *near[3], Scope::SYS, Scope::SYS, true);
    EXPECT(knows(*near[3], weak) && !knows(*near[3], weak, Space::GLOBAL), "shared memory alone");
}

void relaxed() {
    const Threads t = launch(nullptr, false, 1, 3);
    int flag;
    const Epoch data = access_of(*t[0]);
    fence(Scope::GPU), atomic_write(&flag, Scope::GPU, false, false);
    enter(*t[1]), atomic_read(&flag, Scope::GPU, false);
    EXPECT(!knows(*t[1], data), "a relaxed read alone");
    fence(Scope::GPU);
    EXPECT(knows(*t[1], data), "a fence after it");
    enter(*t[2]), atomic_write(&flag, Scope::GPU, false, false);
    atomic_read(&flag, Scope::GPU, true);
    EXPECT(!knows(*t[2], data), "another write ends the sequence");
}

void proxies() {
    for (int fenced_by = 0; fenced_by < 4; ++fenced_by) { // nobody, writer, reader, other space
        const Threads t = launch();
        const Epoch written = access_of(*t[0]);
        if (fenced_by == 1 || fenced_by == 3)
            fence_proxy(fenced_by == 1 ? Space::SHARED : Space::GLOBAL, true);
        pass(*t[0], *t[1]);
        if (fenced_by == 2)
            fence_proxy(Space::SHARED, false);
        const auto copy = make_operation(*t[1], {1, 0, "copy"}, true);
        EXPECT(knows(*copy, written), "ordered");
        EXPECT(is_unfenced(written, Space::SHARED) == (fenced_by % 3 == 0), "%d", fenced_by);
    }
}

void operations() {
    const Threads t = launch();
    const auto make = [&] { return enter(*t[0]), make_operation(*t[0], {0, 0, "copy"}, true); };
    const Epoch before = access_of(*t[0]);
    const auto first = make();
    const Epoch copied = access_of(*first), after = access_of(*t[0]);
    EXPECT(knows(*first, before) && !knows(*first, after), "it is after its issue alone");
    EXPECT(!knows(*t[0], copied) && knows_issue_of(copied), "its issuer has not waited");
    Carrier done;
    enter(*first), release_own(done), end_operation(*first);
    EXPECT(make()->self.agent != first->self.agent, "a number that its issuer does not know");
    enter(*t[0]), acquire(done);
    EXPECT(knows(*t[0], copied), "waited for");
    const auto next = make();
    EXPECT(next->self.agent == first->self.agent, "its number is free");
    EXPECT(!knows(*t[0], access_of(*next)) && knows(*t[0], copied), "and its time another one");
}

void streams() {
    static int keys[4];
    const void *one = keys, *two = keys + 1, *blocking = keys + 2, *event = keys + 3;
    stream_created(one, true), stream_created(two, true), stream_created(blocking, false);
    const auto work_on = [](const void *stream) {
        const Epoch made = access_of(*launch(stream)[0]);
        return end_on(stream), made;
    };
    const auto is_after = [](const void *stream, const Epoch &work, bool early = false) {
        const bool after = knows(*launch(stream, early)[0], work);
        return end_on(stream), after;
    };
    const Epoch first = work_on(one);
    EXPECT(is_after(one, first) && !is_after(two, first) && !is_after(nullptr, first), "streams");
    record_event(event, one);
    const Epoch second = work_on(one);
    wait_for_event(event, two);
    EXPECT(is_after(two, first) && !is_after(two, second), "an event covers what came before it");
    EXPECT(is_after(nullptr, work_on(blocking)) && is_after(blocking, work_on(nullptr)), "default");
    const Epoch third = work_on(one);
    EXPECT(!is_after(one, third, true), "an early launch");
    const Epoch fourth = work_on(one);
    const Threads early = launch(one, true);
    enter(*early[0]), waited_for_launch_before();
    EXPECT(knows(*early[0], fourth) && is_of_earlier_work(fourth), "griddepcontrol.wait");
    end_on(one);
    EXPECT(!is_after(two, fourth), "the host has not waited");
    host_waits_for(one);
    EXPECT(is_after(two, fourth), "the host has waited");
}

// Thread 0 writes some bytes and thread 1 reads some, unordered.
const struct {
    std::uint32_t written, bytes, read, count;
    bool race;
} SPLITS[] = {{0, 16, 15, 1, true},      {5, 1, 4, 1, false},     {5, 1, 6, 2, false},
              {4, 2, 5, 1, true},        {4, 2, 6, 2, false},     {8, 4, 12, 4, false},
              {8, 4, 8, 8, true},        {0, 16, 16, 16, false},  {1008, 32, 1024, 4, true},
              {1020, 4, 1024, 4, false}, {0, 1024, 512, 1, true}, {0, 1024, 1024, 1024, false}};

void access(Cta &cta, Context &agent, std::uint32_t at, std::size_t bytes, bool is_write) {
    enter(agent), access_shared(cta, at, bytes, {is_write, here()});
}

void cells() {
    for (const auto &row : SPLITS) {
        const Outcome outcome = outcome_of([&] {
            const Threads t = launch();
            Cta cta;
            access(cta, *t[0], row.written, row.bytes, true);
            access(cta, *t[1], row.read, row.count, false);
        });
        EXPECT((outcome.status == 1) == row.race, "%u, %u after %u, %u: %s", row.read, row.count,
               row.written, row.bytes, outcome.report.c_str());
    }
}

// A warp reads a word, and a thread that is after `known` of the lanes writes it.
void lanes() {
    const auto write_after = [](int known) {
        const Threads t = launch(nullptr, false, 1, 64);
        Cta cta;
        Carrier carrier;
        access(cta, *t[40], 0, 16, true);
        enter(*t[40]), release(carrier);
        for (int i = 0; i < 32; ++i)
            enter(*t[i]), acquire(carrier), access(cta, *t[i], 0, 4, false);
        for (int i = 0; i < known; ++i)
            pass(*t[i], *t[40]);
        access(cta, *t[40], 0, 16, true);
    };
    write_after(32);
    expect_mistake("race", "thread 31 of CTA 0 (warp 0, lane 31) reads", [&] { write_after(31); });
}

} // namespace

int main() {
    run_case("order: releases and acquires", releases);
    run_case("order: scopes, other clusters, weak releases", scopes);
    run_case("order: relaxed accesses and fences", relaxed);
    run_case("order: proxy fences by the writer or the reader", proxies);
    run_case("order: operations and their numbers", operations);
    run_case("order: streams, events, early launches and the host", streams);
    run_case("cells: parts of 1 to 1024 bytes", cells);
    run_case("cells: reads by lanes", lanes);
    return test_result();
}
