// The emulator's core: the scheduler, barriers, warps, policies. What kernels tell is a
// log; -1 in it is a complaint.
#include "units.h"

#include "emulator/emulator.h"
#include "operations.h"
#include "emulator/warp.h"

#include <set>

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace {

using Log = std::vector<int>;
Log entries;

void record(int value) { entries.push_back(value); }

void expect(bool holds) {
    if (!holds)
        record(-1);
}

std::string text_of(const Log &values) {
    std::string text;
    for (const int value : values)
        text += std::to_string(value) + " ";
    return text;
}

void expect_log(const Log &expected, const char *what) {
    EXPECT(entries == expected, "%s: %s", what, text_of(entries).c_str());
}

void run(dim3 grid, dim3 cluster, dim3 block, const std::function<void()> &kernel) {
    entries.clear();
    Grid launch;
    launch.grid = grid;
    launch.cluster = cluster;
    launch.block = block;
    run_grid(launch, kernel);
}

// Every fixed policy, and random ones.
void under_policies(const std::function<void(const std::string &)> &kernels) {
    for (const std::string &name : fixed_policy_names())
        under_policy(name.c_str(), [&] { kernels(name); });
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        choose_policy("random", seed);
        kernels("random " + std::to_string(seed));
    }
    choose_policy("eager", 0);
}

// ---------------------------------------------------------------- the grid

void indices() {
    run(dim3(4, 2), dim3(2), dim3(3, 2), [] {
        const int block = static_cast<int>(blockIdx.x + gridDim.x * blockIdx.y);
        const int thread = static_cast<int>(threadIdx.x + blockDim.x * threadIdx.y);
        record(block * 1000 + thread * 10 + current->cta->rank);
    });
    const std::set<int> places(entries.begin(), entries.end());
    EXPECT(places.size() == 48, "%zu places", places.size());
    for (int block = 0; block < 8; ++block)
        for (int thread = 0; thread < 6; ++thread)
            EXPECT(places.count(block * 1000 + thread * 10 + block % 2) == 1, "block %d thread %d",
                   block, thread);
    EXPECT(counts.threads == 48 && counts.ctas == 8 && counts.clusters == 4, "counted %d threads",
           static_cast<int>(counts.threads));
}

// The first CTA exits; the second asks until somebody was told about that.
void progress() {
    static double last = 0;
    on_progress([](double done, std::uint64_t) { last = done; });
    run(2, 2, 1, [] {
        for (int i = 0; current->cta->rank == 1 && last == 0 && i < 100'000'000; ++i)
            let_others_run();
    });
    on_progress(nullptr);
    EXPECT(last == 0.5, "%f of the grid done", last);
}

// CTA 0 asks for what CTA 1 records.
void spinning() {
    for (const std::string &name : fixed_policy_names())
        under_policy(name.c_str(), [&] {
            run(2, 2, 4, [] {
                if (current->cta->rank == 1)
                    record(1);
                while (entries.empty())
                    let_others_run();
            });
            expect_log({1, 1, 1, 1}, name.c_str());
        });
}

// ---------------------------------------------------------------- barriers and warps

std::size_t recorded(int value) {
    return std::size_t(std::count(entries.begin(), entries.end(), value));
}

// Each runs on one cluster under many policies, and makes so many entries without a complaint.
void exit_then_sync() {
    if (thread_number() % 2 == 1 || thread_number() == 0)
        return; // some exit before the others arrive, some after
    record(1);
    syncthreads(here());
    expect(entries.size() >= 31);
}

void exit_before_cluster_barrier() {
    if (thread_number() == 0)
        return;
    record(1);
    cluster_arrive(here());
    if (thread_number() == 1)
        return; // arrived, and never waits
    cluster_wait(here());
    expect(entries.size() >= 93);
    sync_cluster();
}

std::uint64_t shuffled(Shuffle how, int operand, int width) {
    const std::uint64_t mine = static_cast<std::uint64_t>(current->lane()) << 40;
    return warp_shuffle(how, WHOLE_WARP, mine, operand, width, here()) >> 40;
}

// Half of the lanes have exited: the others do not wait for them.
void shuffle_after_exits() {
    const unsigned lane = static_cast<unsigned>(current->lane());
    if (lane >= 16)
        return;
    expect(warp_vote("vote", WHOLE_WARP, true, here()) == 0xffff);
    warp_sync(WHOLE_WARP, here());
    expect(shuffled(Shuffle::XOR, 1, 32) == (lane ^ 1));
    record(1);
}

const struct Together {
    const char *promise;
    void (*kernel)();
    int ctas, threads;
    std::size_t entries;
} TOGETHER[] = {
    {"__syncthreads does not wait for threads that exited", exit_then_sync, 1, 64, 31},
    {"cluster barrier: exits before it", exit_before_cluster_barrier, 3, 32, 93},
    {"shuffles and ballots after exits", shuffle_after_exits, 1, 64, 32},
};

void run_together() {
    static const Together *now;
    for (const Together &one : TOGETHER) {
        now = &one;
        run_case(one.promise, [] {
            under_policies([](const std::string &policy) {
                run(dim3(unsigned(now->ctas)), dim3(unsigned(now->ctas)),
                    dim3(unsigned(now->threads)), now->kernel);
                EXPECT(recorded(-1) == 0 && entries.size() == now->entries, "%s: %s",
                       policy.c_str(), text_of(entries).c_str());
            });
        });
    }
}

// ---------------------------------------------------------------- operations and policies

WaitQueue landed_queue;
int landed = 0;

// Starts an operation that records its number; `in_order`: not before those of lower numbers.
void start(OperationKind kind, int number, bool in_order = false) {
    Operation operation{};
    operation.kind = kind;
    operation.cta = current->cta;
    operation.issuer = current;
    operation.site = Site::current();
    operation.name = "test operation";
    operation.complete = [number] {
        ++landed;
        record(number);
        landed_queue.wake_all();
    };
    if (in_order)
        operation.ready = [number] { return landed == number; };
    submit(std::move(operation));
}

void wait_for_landings(int number) {
    wait_until(
        landed_queue, [number] { return landed >= number; }, here(),
        [] { return std::string("landings"); });
}

// -1 stands where the thread has issued everything and waits. Threads are recorded as 100 times
// their CTA's rank plus their number.
void orders() {
    const struct {
        const char *policy;
        Log operations, threads;
    } expected[] = {
        {"eager", {0, 1, 2, 3, 4, 5, -1}, {0, 1, 100, 101}},
        {"lazy", {-1, 0, 5, 4, 1, 2, 3}, {0, 1, 100, 101}},
        {"newest-first", {-1, 5, 4, 3, 2, 1, 0}, {101, 100, 1, 0}},
        {"late-reads", {0, 4, 5, -1, 1, 2, 3}, {0, 1, 100, 101}},
        {"late-loads", {1, 2, 3, -1, 0, 4, 5}, {0, 1, 100, 101}},
    };
    for (const auto &row : expected)
        under_policy(row.policy, [&] {
            landed = 0;
            run(1, 1, 1, [] {
                start(OperationKind::LOAD, 0);
                start(OperationKind::MATMUL, 1);
                start(OperationKind::STORE_READ, 2);
                start(OperationKind::STORE_WRITE, 3);
                start(OperationKind::COPY, 4);
                start(OperationKind::LOAD, 5);
                record(-1);
                wait_for_landings(6);
            });
            expect_log(row.operations, row.policy);
            run(2, 2, 2, [] { record(thread_number() + 100 * current->cta->rank); });
            expect_log(row.threads, row.policy);
        });
}

// Operations that complete in their order alone, whatever the policy.
void ready() {
    for (const std::string &name : fixed_policy_names())
        under_policy(name.c_str(), [&] {
            landed = 0;
            run(1, 1, 1, [] {
                for (int number = 4; number >= 0; --number)
                    start(OperationKind::MATMUL, number, true);
                wait_for_landings(5);
            });
            expect_log({0, 1, 2, 3, 4}, name.c_str());
        });
}

void start_and_sync() {
    const int rank = current->cta->rank, lane = current->lane();
    for (int round = 0; round < 4; ++round) {
        record(1000 + thread_number() + 100 * rank);
        if (lane < 2)
            start(static_cast<OperationKind>((round + lane) % 5), rank * 100 + round * 10 + lane);
        syncthreads(here());
    }
    wait_for_landings(16);
    sync_cluster();
}

Log random_run(std::uint64_t seed) {
    choose_policy("random", seed);
    landed = 0;
    run(2, 2, 32, start_and_sync);
    choose_policy("eager", 0);
    return entries;
}

void random_runs() {
    std::set<Log> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Log log = random_run(seed);
        different.insert(log);
        EXPECT(log.size() == 2 * 32 * 4 + 16, "%zu entries", log.size());
        EXPECT(log == random_run(seed), "seed %d went another way", static_cast<int>(seed));
    }
    EXPECT(different.size() >= 15, "20 seeds made only %zu different runs", different.size());
}

// ---------------------------------------------------------------- mistakes

void touch_peer() {
    if (current->cta->rank == 1)
        peer_uses(*current_cluster->ctas[0], here());
}

void good_exits() {
    under_policy("lazy", [] {
        run(1, 1, 1, [] { start(OperationKind::STORE_WRITE, 0); });
        expect_log({0}, "the store's write");
    });
    under_policy("newest-first", [] { // the peer is first
        run(2, 2, 2, [] {
            touch_peer();
            sync_cluster();
        });
    });
}

void block_some() {
    const int number = thread_number();
    if (current->cta->rank == 1 || number == 5)
        return;
    if (number < 32)
        named_barrier_sync(4, 64, here());
    else if (number == 40)
        warp_sync(WHOLE_WARP, here());
}

const std::vector<MistakeCase> MISTAKES = {
    {"a kernel does not launch another", "misuse", "from a kernel", 1, 1,
     [] { run(1, 1, 1, [] {}); }},
    {"a named barrier's id is checked", "misuse", "ids are 0 to 15", 1, 32,
     [] { named_barrier_sync(16, 32, here()); }},
    {"a named barrier is of whole warps; the line that called is named", "misuse",
     "not whole warps", 1, 64, [] { named_barrier_sync(1, 33, here()); }, "test_core.cpp:"},
    {"a named barrier is of warps that the CTA has", "misuse", "not whole warps", 1, 32,
     [] { named_barrier_sync(1, 64, here()); }},
    {"a named barrier has one count in a phase", "misuse", "the same phase", 1, 64,
     [] { named_barrier_sync(1, current->warp() == 0 ? 64 : 32, here()); }},
    {"cluster barrier: two arrivals", "misuse", "a second barrier.cluster.arrive", 1, 1,
     [] {
         cluster_arrive(here());
         cluster_arrive(here());
     }},
    {"cluster barrier: a wait alone", "misuse", "without an arrive", 1, 1,
     [] { cluster_wait(here()); }},
    {"lanes that diverge are reported", "misuse", "diverged", 1, 32,
     [] {
         if (current->lane() < 7)
             warp_sync(WHOLE_WARP, here());
         else
             warp_vote("vote", WHOLE_WARP, true, here());
     }},
    {"a shuffle from a lane that is not in the mask", "misuse", "which does not take part", 1, 32,
     [] {
         if (current->lane() < 16)
             warp_shuffle(Shuffle::INDEX, 0xffff, 0, 20, 32, here());
     }},
    {"an .aligned instruction after a lane's exit", "misuse", "which exited", 1, 32,
     [] {
         if (current->lane() < 31)
             warp_together("mma", WHOLE_WARP, nullptr, nullptr, false, here());
     }},
    {"a mask without the lane itself", "misuse", "without the lane itself", 1, 32,
     [] { warp_sync(1, here()); }},
    {"a deadlock names who waits where", "deadlock", "nothing is in flight", 2, 64, block_some,
     "31 threads of CTA 0 (0 to 4, 6 to 31): barrier 4: 32 of 64 threads have arrived\n    "
     "emulator/tests/test_core.cpp:"},
    {"a deadlock names CTAs that exited", "deadlock", "nothing is in flight", 2, 64, block_some,
     "CTA 1 has exited"},
    {"a CTA must not exit before a peer's use behind the arrival", "lifetime",
     "CTA 0 exits while a peer", 2, 2,
     [] { // the barrier does not wait for it
         cluster_arrive(here());
         touch_peer();
         cluster_wait(here());
     },
     "", "newest-first"},
};

} // namespace

int main() {
    emulator_report_prefix("test_core");
    run_case("every thread has its indices", indices);
    run_case("progress is told", progress);
    run_case("threads that ask again and again let others run", spinning);
    run_together();
    run_case("each policy completes operations and picks threads in its order", orders);
    run_case("operations that are not ready wait", ready);
    run_case("the same seed gives the same run", random_runs);
    run_case("a CTA may exit before its stores have written", good_exits);
    run_mistakes(MISTAKES);
    return test_result();
}
