// The emulator's core: fibers, the scheduler, barriers, warps, policies. Kernels here are plain
// functions that call the emulator; what they tell is kept by functions that are not instrumented.
#include "../unit/test.h"

#include "emulator/barriers.h"
#include "emulator/counts.h"
#include "emulator/emulator.h"
#include "emulator/fiber.h"
#include "emulator/machine.h"
#include "emulator/operations.h"
#include "emulator/policy.h"
#include "emulator/warp.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace em = emulator;
using em::Site;

namespace {

constexpr std::uint32_t FULL_WARP = 0xffffffff;

// ---------------------------------------------------------------- what kernels tell

constexpr int LOG_SIZE = 4096;
int log_entries[LOG_SIZE];
int log_length = 0;

[[gnu::noinline, gnu::no_sanitize_thread]] void record(int value) {
    if (log_length < LOG_SIZE)
        log_entries[log_length++] = value;
}

[[gnu::noinline, gnu::no_sanitize_thread]] int recorded() { return log_length; }

[[gnu::noinline, gnu::no_sanitize_thread]] int entry(int index) { return log_entries[index]; }

std::vector<int> whole_log() { return {log_entries, log_entries + log_length}; }

std::string text_of(const std::vector<int> &values) {
    std::string text;
    for (const int value : values)
        text += std::to_string(value) + " ";
    return text;
}

void run(dim3 grid, dim3 cluster, dim3 block, void (*kernel)()) {
    log_length = 0;
    em::Grid launch;
    launch.grid = grid;
    launch.cluster = cluster;
    launch.block = block;
    em::run_grid(launch, kernel);
}

// ---------------------------------------------------------------- programs that must fail

struct Ending {
    int status; // of exit; -1 if it ended otherwise
    std::string report;
};

[[noreturn]] void give_up(const char *doing) {
    std::fprintf(stderr, "cannot %s: %s\n", doing, std::strerror(errno));
    std::exit(1);
}

std::string read_all(int descriptor) {
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t got = read(descriptor, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            give_up("read a child's report");
        if (got == 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

// Runs body() in a child process and returns how that ended and what it said.
Ending ending_of(void (*body)()) {
    int ends[2];
    std::fflush(stdout);
    if (pipe(ends) != 0)
        give_up("make a pipe");
    const pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0) {
        if (dup2(ends[1], STDERR_FILENO) < 0 || close(ends[0]) != 0 || close(ends[1]) != 0)
            give_up("redirect a child's report");
        alarm(20);
        body();
        std::exit(0);
    }
    if (close(ends[1]) != 0)
        give_up("close a pipe");
    const std::string report = read_all(ends[0]);
    int status = 0;
    if (close(ends[0]) != 0 || waitpid(child, &status, 0) != child)
        give_up("wait for a child");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, report};
}

bool contains(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

void expect_failure(const char *kind, const char *part, void (*body)()) {
    const Ending ending = ending_of(body);
    EXPECT(ending.status == 1, "exit status %d: %s", ending.status, ending.report.c_str());
    EXPECT(contains(ending.report, kind) && contains(ending.report, part),
           "no '%s' and '%s' in: %s", kind, part, ending.report.c_str());
}

// ---------------------------------------------------------------- fibers

em::Fiber main_fiber, first_fiber, second_fiber;

[[gnu::noinline, gnu::no_sanitize_thread]] double stir(double value) { return value * 1.5 + 1; }

// Keeps numbers in registers across switches.
void count_up() {
    double a = stir(1), b = stir(2), c = stir(3), d = stir(4);
    alignas(16) volatile char aligned[16] = {};
    record(reinterpret_cast<std::uintptr_t>(aligned) % 16 == 0);
    record(em::fiber_stack_of(const_cast<char *>(aligned)));
    for (int turn = 0;; ++turn) {
        record(100 + turn);
        em::fiber_switch(first_fiber, second_fiber);
        a += b, b += c, c += d, d += 1;
        if (turn == 2) {
            record(static_cast<int>(a + b + c + d));
            em::fiber_switch(first_fiber, main_fiber);
        }
    }
}

void answer() {
    for (double x = stir(0), y = stir(5);; x += y, y += 1) {
        record(200 + static_cast<int>(x));
        em::fiber_switch(second_fiber, first_fiber);
    }
}

void test_fibers() {
    log_length = 0;
    em::fiber_stacks_reserve(2);
    em::fiber_create(first_fiber, 0, count_up);
    em::fiber_create(second_fiber, 1, answer);
    em::fiber_switch(main_fiber, first_fiber);
    const std::vector<int> expected = {1, 0, 100, 201, 101, 209, 102, 219, 120};
    EXPECT(whole_log() == expected, "got %s", text_of(whole_log()).c_str());
    EXPECT(em::fiber_stack_end(1) - em::fiber_stack_begin(1) == em::FIBER_STACK, "stack size");
    EXPECT(em::fiber_stack_of(em::fiber_stack_begin(1)) == 1, "the first byte");
    EXPECT(em::fiber_stack_of(em::fiber_stack_end(1) - 1) == 1, "the last byte");
    EXPECT(em::fiber_stack_of(em::fiber_stack_end(0)) == -1, "the page between two stacks");
    EXPECT(em::fiber_stack_of(&main_fiber) == -1, "memory elsewhere");
}

[[gnu::noinline, gnu::no_sanitize_thread]] int overflow(int depth) {
    volatile char page[4096];
    page[0] = static_cast<char>(depth);
    return depth == 1000 ? 0 : overflow(depth + 1) + page[0];
}

void test_stack_overflow() {
    expect_failure("address", "need more than the 64 KiB of its stack",
                   [] { run(1, 1, 1, [] { record(overflow(0)); }); });
}

// ---------------------------------------------------------------- the grid

[[gnu::noinline, gnu::no_sanitize_thread]] void record_place() {
    const int block = static_cast<int>(blockIdx.x + gridDim.x * blockIdx.y);
    const int thread = static_cast<int>(threadIdx.x + blockDim.x * threadIdx.y);
    record(block * 1000 + thread * 10 + em::current->cta->rank);
}

void test_indices() {
    run(dim3(4, 2), dim3(2), dim3(3, 2), record_place);
    const std::vector<int> log = whole_log();
    const std::set<int> places(log.begin(), log.end());
    EXPECT(places.size() == 48, "%zu places", places.size());
    for (int block = 0; block < 8; ++block)
        for (int thread = 0; thread < 6; ++thread)
            EXPECT(places.count(block * 1000 + thread * 10 + block % 2) == 1, "block %d thread %d",
                   block, thread);
    EXPECT(em::counts.threads == 48 && em::counts.ctas == 8 && em::counts.clusters == 4,
           "counted %d threads", static_cast<int>(em::counts.threads));
}

void test_launch_misuse() {
    expect_failure("misuse", "1025 threads", [] { run(1, 1, 1025, record_place); });
    expect_failure("misuse", "not a multiple", [] { run(3, 2, 1, record_place); });
    expect_failure("misuse", "from a kernel", [] { run(1, 1, 1, [] { run(1, 1, 1, [] {}); }); });
}

double last_progress = 0;

[[gnu::noinline, gnu::no_sanitize_thread]] void note_progress(double done, std::uint64_t) {
    last_progress = done;
}

[[gnu::noinline, gnu::no_sanitize_thread]] bool progressed() { return last_progress > 0; }

// The first CTA exits; the second asks until somebody was told about that.
void wait_for_progress() {
    for (int i = 0; em::current->cta->rank == 1 && !progressed() && i < 100'000'000; ++i)
        em::let_others_run();
}

void test_progress() {
    em::on_progress(note_progress);
    run(2, 2, 1, wait_for_progress);
    em::on_progress(nullptr);
    EXPECT(last_progress == 0.5, "%f of the grid done", last_progress);
}

// CTA 0 asks for what CTA 1 records.
void spin() {
    if (em::current->cta->rank == 1)
        record(1);
    while (recorded() == 0)
        em::let_others_run();
}

void test_spinning() {
    for (const std::string &name : em::fixed_policy_names()) {
        em::choose_policy(name, 0);
        run(2, 2, 4, spin);
        EXPECT(recorded() == 4, "%s", name.c_str());
    }
    em::choose_policy("eager", 0);
}

// ---------------------------------------------------------------- barriers

// Exactly `before` entries have been made when a thread is behind the barrier.
void expect_entries(int before) {
    if (recorded() < before)
        record(-1);
}

void sync_twice() {
    for (int round = 1; round <= 2; ++round) {
        record(round);
        em::syncthreads(Site::current());
        expect_entries(round * 64);
        em::syncthreads(Site::current());
    }
}

void exit_then_sync() {
    const int number = em::current->number;
    if (number % 2 == 1 || number == 0)
        return; // some exit before the others arrive, some after
    record(1);
    em::syncthreads(Site::current());
    expect_entries(31);
}

// The log without complaints and with the right number of entries, under many policies.
void expect_clean(void (*kernel)(), int ctas, int threads, int entries) {
    std::vector<std::pair<std::string, std::uint64_t>> policies;
    for (const std::string &name : em::fixed_policy_names())
        policies.push_back({name, 0});
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        policies.push_back({"random", seed});
    for (const auto &[name, seed] : policies) {
        em::choose_policy(name, seed);
        run(dim3(ctas), dim3(ctas), dim3(threads), kernel);
        const std::vector<int> log = whole_log();
        const bool clean = std::set<int>(log.begin(), log.end()).count(-1) == 0;
        EXPECT(clean && recorded() == entries, "%s %d: %s", name.c_str(), static_cast<int>(seed),
               text_of(log).c_str());
    }
    em::choose_policy("eager", 0);
}

void test_syncthreads() {
    expect_clean(sync_twice, 1, 64, 128);
    EXPECT(em::counts.barrier_waits == 256 && em::counts.barrier_waits_blocked == 252,
           "%d waits, %d blocked", static_cast<int>(em::counts.barrier_waits),
           static_cast<int>(em::counts.barrier_waits_blocked));
}

void test_syncthreads_after_exits() { expect_clean(exit_then_sync, 1, 64, 31); }

// Two groups of two warps, each with a barrier of its own; then the first warp only arrives.
void sync_subsets() {
    const int group = em::current->number / 64;
    record(group);
    em::named_barrier_sync(1 + group, 64, Site::current());
    int others = 0;
    for (int i = 0; i < recorded(); ++i)
        others += entry(i) == group;
    if (others < 64)
        record(-1);
    if (em::current->warp() == 0)
        em::named_barrier_arrive(3, 128, Site::current());
    else
        em::named_barrier_sync(3, 128, Site::current());
    expect_entries(em::current->warp() == 0 ? 64 : 128);
}

void test_named_barriers() { expect_clean(sync_subsets, 1, 128, 128); }

void test_named_barrier_misuse() {
    expect_failure("misuse", "ids are 0 to 15",
                   [] { run(1, 1, 32, [] { em::named_barrier_sync(16, 32, Site::current()); }); });
    expect_failure("test_core.cpp:", "not whole warps", // the line that called it is named
                   [] { run(1, 1, 64, [] { em::named_barrier_sync(1, 33, Site::current()); }); });
    expect_failure("misuse", "not whole warps",
                   [] { run(1, 1, 32, [] { em::named_barrier_sync(1, 64, Site::current()); }); });
    expect_failure("misuse", "the same phase", [] {
        run(1, 1, 64,
            [] { em::named_barrier_sync(1, em::current->warp() == 0 ? 64 : 32, Site::current()); });
    });
}

void sync_cluster() {
    for (int round = 1; round <= 2; ++round) {
        record(round);
        em::cluster_arrive(Site::current());
        em::cluster_wait(Site::current());
        expect_entries(round * 96);
        em::cluster_arrive(Site::current());
        em::cluster_wait(Site::current());
    }
}

void exit_before_cluster_barrier() {
    const int number = em::current->number;
    if (number == 0)
        return;
    record(1);
    em::cluster_arrive(Site::current());
    if (number == 1)
        return; // arrived, and never waits
    em::cluster_wait(Site::current());
    expect_entries(93);
    em::cluster_arrive(Site::current());
    em::cluster_wait(Site::current());
}

void test_cluster_barrier() {
    expect_clean(sync_cluster, 3, 32, 192);
    expect_clean(exit_before_cluster_barrier, 3, 32, 93);
    expect_failure("misuse", "a second barrier.cluster.arrive", [] {
        run(1, 1, 1, [] {
            em::cluster_arrive(Site::current());
            em::cluster_arrive(Site::current());
        });
    });
    expect_failure("misuse", "without an arrive",
                   [] { run(1, 1, 1, [] { em::cluster_wait(Site::current()); }); });
}

// ---------------------------------------------------------------- warps

void expect_equal(std::uint64_t got, std::uint64_t wanted) {
    if (got != wanted)
        record(-1);
}

std::uint64_t shuffle(em::Shuffle how, int operand, int width) {
    const std::uint64_t mine = static_cast<std::uint64_t>(em::current->lane()) << 40;
    return em::warp_shuffle(how, FULL_WARP, mine, operand, width, Site::current()) >> 40;
}

void shuffle_all_ways() {
    const unsigned lane = static_cast<unsigned>(em::current->lane());
    expect_equal(shuffle(em::Shuffle::INDEX, 5, 32), 5);
    expect_equal(shuffle(em::Shuffle::INDEX, 13, 8), lane / 8 * 8 + 5);
    expect_equal(shuffle(em::Shuffle::UP, 3, 32), lane < 3 ? lane : lane - 3);
    expect_equal(shuffle(em::Shuffle::UP, 1, 8), lane % 8 < 1 ? lane : lane - 1);
    expect_equal(shuffle(em::Shuffle::DOWN, 4, 32), lane + 4 > 31 ? lane : lane + 4);
    expect_equal(shuffle(em::Shuffle::DOWN, 4, 16), lane % 16 + 4 > 15 ? lane : lane + 4);
    expect_equal(shuffle(em::Shuffle::XOR, 16, 32), lane ^ 16);
    expect_equal(shuffle(em::Shuffle::XOR, 16, 16), lane < 16 ? lane : lane ^ 16);
    expect_equal(em::warp_ballot(FULL_WARP, lane % 3 == 0, Site::current()), 0x49249249);
    em::warp_sync(FULL_WARP, Site::current());
    record(1);
}

// Half of the lanes have exited: the others do not wait for them.
void shuffle_after_exits() {
    const unsigned lane = static_cast<unsigned>(em::current->lane());
    if (lane >= 16)
        return;
    expect_equal(em::warp_ballot(FULL_WARP, true, Site::current()), 0xffff);
    em::warp_sync(FULL_WARP, Site::current());
    expect_equal(shuffle(em::Shuffle::XOR, 1, 32), lane ^ 1);
    record(1);
}

void test_shuffles() {
    expect_clean(shuffle_all_ways, 1, 64, 64);
    expect_clean(shuffle_after_exits, 1, 64, 32);
}

void diverge() {
    if (em::current->lane() < 7)
        em::warp_sync(FULL_WARP, Site::current());
    else
        em::warp_ballot(FULL_WARP, true, Site::current());
}

void test_divergence() {
    expect_failure("misuse", "diverged", [] { run(1, 1, 32, diverge); });
    expect_failure("misuse", "which does not take part", [] {
        run(1, 1, 32, [] {
            if (em::current->lane() < 16)
                em::warp_shuffle(em::Shuffle::INDEX, 0xffff, 0, 20, 32, Site::current());
        });
    });
    expect_failure("misuse", "which exited", [] {
        run(1, 1, 32, [] {
            if (em::current->lane() < 31)
                em::warp_together("mma", FULL_WARP, nullptr, nullptr, false, Site::current());
        });
    });
    expect_failure("misuse", "without the lane itself",
                   [] { run(1, 1, 32, [] { em::warp_sync(1, Site::current()); }); });
}

// ---------------------------------------------------------------- deadlocks

void block_some() {
    const int number = em::current->number;
    if (em::current->cta->rank == 1 || number == 5)
        return;
    if (number < 32)
        em::named_barrier_sync(4, 64, Site::current());
    else if (number == 40)
        em::warp_sync(FULL_WARP, Site::current());
}

void test_deadlock() {
    const Ending ending = ending_of([] { run(2, 2, 64, block_some); });
    const char *parts[] = {"deadlock", "nothing is in flight",
                           "31 threads of CTA 0 (0 to 4, 6 to 31): barrier 4: 31 of 64",
                           "CTA 1 has exited", "test_core.cpp"};
    EXPECT(ending.status == 1, "exit status %d", ending.status);
    for (const char *part : parts)
        EXPECT(contains(ending.report, part), "no '%s' in: %s", part, ending.report.c_str());
}

// ---------------------------------------------------------------- operations and policies

em::WaitQueue landed_queue;
int landed = 0;

[[gnu::noinline, gnu::no_sanitize_thread]] bool have_landed(int number) { return landed >= number; }

[[gnu::noinline, gnu::no_sanitize_thread]] void land(int number) {
    ++landed;
    record(number);
    landed_queue.wake_all();
}

[[gnu::noinline, gnu::no_sanitize_thread]] void start(em::OperationKind kind, int number) {
    em::Operation operation{};
    operation.kind = kind;
    operation.cta = em::current->cta;
    operation.issuer = em::current;
    operation.site = Site::current();
    operation.name = "test operation";
    operation.complete = [number] { land(number); };
    em::submit(std::move(operation));
}

[[gnu::noinline, gnu::no_sanitize_thread]] void wait_for_landings(int number) {
    em::wait_until(
        landed_queue, [number] { return have_landed(number); }, Site::current(),
        [] { return std::string("landings"); });
}

void start_all_kinds() {
    start(em::OperationKind::LOAD, 0);
    start(em::OperationKind::MATMUL, 1);
    start(em::OperationKind::STORE_READ, 2);
    start(em::OperationKind::STORE_WRITE, 3);
    start(em::OperationKind::COPY, 4);
    start(em::OperationKind::LOAD, 5);
    record(-1);
    wait_for_landings(6);
}

void expect_order(const char *policy, const std::vector<int> &expected) {
    em::choose_policy(policy, 0);
    landed = 0;
    run(1, 1, 1, start_all_kinds);
    EXPECT(whole_log() == expected, "%s: %s", policy, text_of(whole_log()).c_str());
    em::choose_policy("eager", 0);
}

void test_policy_names() {
    EXPECT(em::fixed_policy_names().size() == 5, "%zu", em::fixed_policy_names().size());
    EXPECT(em::fixed_policy_names().front() == "eager", "the first");
    EXPECT(!em::choose_policy("hasty", 0), "an unknown name was taken");
    EXPECT(em::policy().name == "eager", "it changed the policy to %s", em::policy().name.c_str());
}

// -1 stands where the thread has issued everything and waits.
void test_completion_order() {
    expect_order("eager", {0, 1, 2, 3, 4, 5, -1});
    expect_order("lazy", {-1, 0, 5, 4, 1, 2, 3});
    expect_order("newest-first", {-1, 5, 4, 3, 2, 1, 0});
    expect_order("late-reads", {0, 4, 5, -1, 1, 2, 3});
    expect_order("late-loads", {1, 2, 3, -1, 0, 4, 5});
}

void record_thread() { record(em::current->number + 100 * em::current->cta->rank); }

void test_thread_order() {
    run(2, 2, 2, record_thread);
    EXPECT(whole_log() == std::vector<int>({0, 1, 100, 101}), "eager: %s",
           text_of(whole_log()).c_str());
    em::choose_policy("newest-first", 0);
    run(2, 2, 2, record_thread);
    EXPECT(whole_log() == std::vector<int>({101, 100, 1, 0}), "newest-first: %s",
           text_of(whole_log()).c_str());
    em::choose_policy("eager", 0);
}

// Operations that complete in their order alone, whatever the policy.
[[gnu::noinline, gnu::no_sanitize_thread]] void start_in_order(int number) {
    em::Operation operation{};
    operation.kind = em::OperationKind::MATMUL;
    operation.cta = em::current->cta;
    operation.issuer = em::current;
    operation.site = Site::current();
    operation.name = "wgmma";
    operation.complete = [number] { land(number); };
    operation.ready = [number] { return have_landed(number) && !have_landed(number + 1); };
    em::submit(std::move(operation));
}

void start_backwards() {
    for (int number = 4; number >= 0; --number)
        start_in_order(number);
    wait_for_landings(5);
}

void test_ready() {
    const std::vector<int> expected = {0, 1, 2, 3, 4};
    for (const std::string &name : em::fixed_policy_names()) {
        em::choose_policy(name, 0);
        landed = 0;
        run(1, 1, 1, start_backwards);
        EXPECT(whole_log() == expected, "%s: %s", name.c_str(), text_of(whole_log()).c_str());
    }
    em::choose_policy("eager", 0);
}

void start_and_sync() {
    for (int round = 0; round < 4; ++round) {
        record(1000 + em::current->number + 100 * em::current->cta->rank);
        if (em::current->lane() < 2)
            start(static_cast<em::OperationKind>((round + em::current->lane()) % 5),
                  em::current->cta->rank * 100 + round * 10 + em::current->lane());
        em::syncthreads(Site::current());
    }
    wait_for_landings(16);
    em::cluster_arrive(Site::current());
    em::cluster_wait(Site::current());
}

std::vector<int> random_run(std::uint64_t seed) {
    em::choose_policy("random", seed);
    landed = 0;
    run(2, 2, 32, start_and_sync);
    em::choose_policy("eager", 0);
    return whole_log();
}

void test_random() {
    std::set<std::vector<int>> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<int> log = random_run(seed);
        different.insert(log);
        EXPECT(log.size() == 2 * 32 * 4 + 16, "%zu entries", log.size());
        EXPECT(log == random_run(seed), "seed %d went another way", static_cast<int>(seed));
    }
    EXPECT(different.size() >= 15, "20 seeds made only %zu different runs", different.size());
}

void test_random_policies() {
    std::set<std::vector<int>> different;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        em::choose_policy("random", seed);
        const em::Policy &policy = em::policy();
        std::vector<int> habits(policy.completes, policy.completes + em::OPERATION_KINDS);
        habits.push_back(static_cast<int>(policy.yields));
        habits.push_back(policy.favoured_cta);
        different.insert(habits);
        EXPECT(policy.random && policy.name.starts_with("random"), "%s", policy.name.c_str());
    }
    EXPECT(different.size() >= 38, "40 seeds drew only %zu policies", different.size());
    em::choose_policy("eager", 0);
}

// ---------------------------------------------------------------- exits

void start_and_exit() { start(em::OperationKind::LOAD, 0); }

void store_and_exit() { start(em::OperationKind::STORE_WRITE, 0); }

[[gnu::noinline, gnu::no_sanitize_thread]] void touch_peer() {
    if (em::current->cta->rank == 1)
        em::peer_uses(*em::current_cluster->ctas[0], Site::current());
}

void touch_and_exit() {
    touch_peer();
    em::syncthreads(Site::current());
}

void touch_and_sync() {
    touch_peer();
    em::cluster_arrive(Site::current());
    em::cluster_wait(Site::current());
}

// The use comes after the arrival: the barrier does not wait for it.
void touch_too_late() {
    em::cluster_arrive(Site::current());
    touch_peer();
    em::cluster_wait(Site::current());
}

void test_exits() {
    expect_failure("lifetime", "CTA 0 exits while a test operation", [] {
        em::choose_policy("lazy", 0);
        run(1, 1, 1, start_and_exit);
    });
    em::choose_policy("lazy", 0);
    run(1, 1, 1, store_and_exit);
    EXPECT(whole_log() == std::vector<int>({0}), "the store's write: %s",
           text_of(whole_log()).c_str());
    em::choose_policy("newest-first", 0); // the peer is first
    run(2, 2, 2, touch_and_sync);
    em::choose_policy("eager", 0);
    expect_failure("lifetime", "CTA 0 exits while a peer", [] {
        em::choose_policy("newest-first", 0);
        run(2, 2, 2, touch_and_exit);
    });
    expect_failure("lifetime", "CTA 0 exits while a peer", [] {
        em::choose_policy("newest-first", 0);
        run(2, 2, 2, touch_too_late);
    });
}

} // namespace

int main() {
    emulator_report_prefix("test_core");
    run_case("fibers switch and keep their registers", test_fibers);
    run_case("a stack that overflows is reported", test_stack_overflow);
    run_case("every thread has its indices", test_indices);
    run_case("launches that cannot be", test_launch_misuse);
    run_case("progress is told", test_progress);
    run_case("threads that ask again and again let others run", test_spinning);
    run_case("__syncthreads", test_syncthreads);
    run_case("__syncthreads does not wait for threads that exited", test_syncthreads_after_exits);
    run_case("named barriers of parts of a CTA", test_named_barriers);
    run_case("named barriers that cannot be", test_named_barrier_misuse);
    run_case("cluster barrier", test_cluster_barrier);
    run_case("shuffles and ballots", test_shuffles);
    run_case("lanes that diverge are reported", test_divergence);
    run_case("a deadlock names who waits where", test_deadlock);
    run_case("policies have names", test_policy_names);
    run_case("each policy completes operations in its order", test_completion_order);
    run_case("each policy picks threads in its order", test_thread_order);
    run_case("operations that are not ready wait", test_ready);
    run_case("the same seed gives the same run", test_random);
    run_case("each seed draws a policy of its own", test_random_policies);
    run_case("a CTA must not exit while it is in use", test_exits);
    return test_result();
}
