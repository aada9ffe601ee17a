// The emulated machine: which threads, CTAs and clusters there are, which thread runs, and how
// threads wait.
//
// One cluster runs at a time; the next one begins beside it only if a thread reads memory in a loop
// that no other thread of the cluster ends. Each CUDA thread is a fiber; all fibers share one
// thread of the operating system, so that between two calls into the emulator a thread is never
// interrupted. What a GPU does asynchronously (TMA copies, wgmma, bulk stores, cp.async) is a
// pending operation that the policy completes at once or later: see operations.h.
#pragma once

#include "accumulators.h"
#include "cells.h"
#include "proof.h"
#include "shared_memory.h"
#include "story.h"

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <setjmp.h>

namespace emulator {
constexpr int WARP_LANES = 32;
constexpr int WARPGROUP_LANES = 128;
constexpr int NAMED_BARRIERS = 16;
constexpr int LARGEST_BLOCK = 1024;

struct Cta;
struct Cluster;

// Bytes of a fiber's stack. The page below it has no access rights, so that an overflow faults.
constexpr std::size_t FIBER_STACK = 64 * 1024;

// What the upper part of a new fiber's stack holds: variables that were never written. It is a NaN
// in fp32, and two in fp16 and in bf16.
constexpr std::uint32_t FIBER_POISON = 0x7fff7ffd;
constexpr std::size_t FIBER_POISONED = 4096;

// A function with its own stack: fibers switch to each other.
struct Fiber {
    jmp_buf registers; // while it does not run; on x86-64 eight words of its own order
};

// The stacks of up to `count` fibers, in one mapping. They are reused from cluster to cluster.
// Ends the program with a message if the memory cannot be had.
void fiber_stacks_reserve(int count);

// The address past the end of stack number `index`. Addresses below are variables of that fiber.
const char *fiber_stack_end(int index);

// The number of the stack that `address` lies on, or -1.
int fiber_stack_of(const void *address);

// Makes a fiber that starts in entry() when it is first switched to, on stack number `index`.
// entry() must never return: it ends with a switch away.
void fiber_create(Fiber &fiber, int index, void (*entry)());

// Saves the running fiber in `from` and continues `to`.
void fiber_switch(Fiber &from, Fiber &to);

// Why a thread waits; the deadlock report is made of these.
struct Wait {
    Origin where = Site{};
    // What wait_until() was given: "full[2], phase 3: 1 of 1 arrivals missing, ...".
    std::function<std::string()> describe;
};

// Reads of the last few addresses that other threads may write, in a loop perhaps: may_spin().
struct Spin {
    const void *read[4] = {};
    unsigned next = 0; // the oldest of them
    int reads = 0;     // of these addresses, in a row
};

// cp.async.mbarrier.arrive: an arrival that happens with the last of the thread's copies before it.
struct CopyArrival {
    SharedRef barrier;
    std::uint64_t before; // the number of the thread's first copy after it
    int missing;          // copies that have not landed
    Site site;
};

// One CUDA thread.
struct Thread {
    Cta *cta = nullptr;
    int number = 0; // in its CTA, x fastest
    uint3 index{};  // threadIdx
    Fiber fiber;
    std::unique_ptr<order::Context> context;
    bool finished = false;
    Wait wait;                          // meaningful while it waits
    std::uint64_t cluster_arrivals = 0; // barrier.cluster phases arrived at
    std::uint64_t cluster_waits = 0;    // and waited for
    std::uint64_t aligned_calls = 0;    // executed
    unsigned aligned_line = 0;          // of the last of them
    std::uintptr_t last_access = 0;     // where the kernel's code last touched memory
    std::uint32_t blocked = 0;          // the step in which it was, for its trace
    WaitQueue *times_out_in = nullptr;  // while it is in wait_until_or_time_out(): its queue
    int fruitless_tests = 0;            // mbarrier.test_wait in vain, in a row
    Spin spin;
    proof::Poll failed_poll{};
    Site polls_at{};
    const char *ignored = nullptr;         // an atomic whose result it ignores: its name
    AccumulatorState accumulators;         // accumulators.h
    OperationGroups bulk{"cp.async.bulk"}; // TMA's stores
    OperationGroups copies{"cp.async"};
    OperationGroups wgmmas{"wgmma"};
    std::vector<CopyArrival> copy_arrivals;
    // When and where it told others what it had done: its last arrivals, or barriers.
    std::pair<std::int32_t, Site> told[8]{};
    unsigned tellings = 0;

    int lane() const { return number % WARP_LANES; }
    int warp() const { return number / WARP_LANES; }
    int warpgroup() const { return number / WARPGROUP_LANES; }
};

// Threads that synchronise in phases.
struct Phases {
    int arrived = 0;
    std::uint64_t phase = 0;
    WaitQueue waiting;

    // What carries order from the threads that arrive in a phase to those that leave it. Two
    // consecutive phases need two.
    order::Carrier carriers[2];

    order::Carrier &carrier(std::uint64_t of_phase) { return carriers[of_phase % 2]; }
    // The phase is complete.
    void next() {
        arrived = 0;
        ++phase;
        carrier(phase).clear();
    }
};

// A barrier of the CTA: bar.sync with this id (0 is __syncthreads). It counts warps, as 32 threads
// each, once the last lane that has not exited arrives. (PTX ISA: barrier{.cta}.)
struct NamedBarrier : Phases {
    int expected = 0; // as given by the first thread of this phase; 0: none has come yet
    Site site{};      // of the first thread of this phase
    // In even and odd phases: threads with the predicate of barrier.red, and what threads' fences
    // before it released.
    int votes[2] = {};
    order::Carrier fenced[2];
};

// What some lanes of a warp do together: shuffles, ldmatrix, mma. See together.h.
struct Rendezvous : Phases {
    // What all of them call.
    struct Call {
        const char *what = nullptr;
        std::uint32_t mask = 0;                   // the lanes that take part
        void (*work)(void **arguments) = nullptr; // nullptr: __syncwarp, which orders memory
        bool exited_may_miss = true;              // lanes of the mask that have exited do not count
    };
    Call call;
    std::uint32_t lanes = 0; // the lanes that have arrived; 0: it is not in use
    int leaving = 0;         // lanes that have not gone on since the last phase ended
    void *argument[WARP_LANES] = {};
};

// What a warp has asked setmaxnreg for.
struct RegisterCount {
    int count = 0;
    int held = 0;   // of that; 0: what it was launched with
    int before = 0; // at most, by its first instruction
    int changes = 0;
    Site site{};
};

// An .aligned instruction of a warp.
struct AlignedCall {
    const char *what;
    Site site;
    int lane; // the first one to come
    int lanes;
};

struct Warp {
    std::uint32_t exited = 0;                   // lanes; also those that the CTA does not have
    std::uint32_t arrived[NAMED_BARRIERS] = {}; // lanes, in the phase of each named barrier
    std::vector<std::unique_ptr<Rendezvous>> meetings;
    // Of the .aligned instructions, which each lane has to execute in the same order, those that
    // some lane has not executed yet, and the number of the first of them.
    std::vector<AlignedCall> aligned;
    std::uint64_t first_aligned = 0;
    OpenAccesses accesses;
    RegisterCount registers;
};

// The last use of a CTA's shared memory by an agent of another CTA.
struct PeerUse {
    order::Epoch epoch;
    std::uint64_t phase; // of the cluster's barrier that comes after it; NEVER of an operation
    Origin where = Site{};

    static constexpr std::uint64_t NEVER = ~std::uint64_t(0);
};

struct Mbarriers; // mbarrier.cpp

struct Cta {
    Cluster *cluster = nullptr;
    int rank = 0; // in the cluster
    uint3 block_index{};
    SharedMemory shared;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    std::shared_ptr<Mbarriers> mbarriers; // nullptr: there has been none
    std::vector<Warpgroup> warpgroups;    // accumulators.h; one per whole warpgroup
    NamedBarrier barriers[NAMED_BARRIERS];
    int unfinished = 0; // threads
    std::deque<Thread *> run_queue;
    WaitQueue for_registers;                    // setmaxnreg
    Pages cells;                                // of its shared memory
    std::map<std::uint32_t, PeerUse> peer_uses; // by agent
    std::map<std::uint32_t, PeerUse> ended;     // operations on its shared memory, by agent
    order::Carrier exits;                       // what the threads knew that have exited
    std::vector<const void *> acquired_maps;    // by fence.proxy.tensormap

    bool exited() const { return unfinished == 0; }
};

// The CTAs that run together, and the barrier between them: barrier.cluster.
struct Cluster : Phases {
    std::vector<std::unique_ptr<Cta>> ctas;
    int index = 0;      // in the grid
    int count = 0;      // of clusters in the grid
    int unfinished = 0; // threads
};

// Threads, CTAs or clusters of a launch.
inline std::uint64_t volume(const dim3 &size) { return std::uint64_t(size.x) * size.y * size.z; }

// The configuration of a launch that CUDA would start (runtime.cpp).
struct Grid {
    dim3 grid, block, cluster;
    std::size_t dynamic_shared = 0; // bytes
    bool early = false;             // it may begin while the previous launch still runs
    const void *stream = nullptr;
};

// Runs the kernel over the whole grid, cluster after cluster, each thread calling body().
// A deadlock, a hazard or a lifetime error ends the program with a report (report.h).
void run_grid(const Grid &grid, const std::function<void()> &body);

// The thread that runs; nullptr while none does: in an operation that the scheduler completes.
extern Thread *current;
// The cluster that runs; nullptr outside of run_grid.
extern Cluster *current_cluster;

// What a launch did: the running one, or else the last one.
struct Counts : emulator_counts {
    std::uint64_t ring_ahead_sum, ring_ahead_samples; // of ring_ahead_mean
};
extern Counts counts;

// From now on an access that the processor rejects, such as one past the end of a stack or a
// mapping, is reported as an ADDRESS mistake if a kernel's thread or an operation that it started
// makes it; any other such access ends the program as usual. (report.cpp)
void report_faults();

// Switches from the current thread to others, until it is picked again: it must have been queued
// somewhere.
void leave();

// Blocks the current thread in `queue` until done() holds. Code that changes what done() reads
// wakes the queue. describe() says in the deadlock report what is missing; where is the line that
// waits.
template <typename Done, typename Describe>
void wait_until(WaitQueue &queue, const Done &done, Origin where, const Describe &describe) {
    if (done())
        return;
    Thread &thread = *current;
    thread.wait = {where, std::ref(describe)};
    thread.blocked = next_step();
    do {
        queue.threads.push_back(&thread);
        leave();
    } while (!done());
}

// The same, but the wait also ends if nothing else can happen: time passes, as PTX's try_wait sees
// it. Threads that do nothing but time out again and again are deadlocked.
template <typename Done, typename Describe>
void wait_until_or_time_out(WaitQueue &queue, const Done &done, Origin where,
                            const Describe &describe) {
    Thread &thread = *current;
    thread.times_out_in = &queue;
    wait_until(
        queue, [&] { return done() || thread.times_out_in == nullptr; }, where, describe);
    thread.times_out_in = nullptr;
}

// A place where the policy may let another thread go first: at every call into the emulator that
// other threads could notice. Only random policies do.
void maybe_step_back();
inline void schedule_point() {
    if (policy().random && current != nullptr)
        maybe_step_back();
}

// Lets other threads go first under every policy, and a pending operation complete: for loops that
// poll.
void let_others_run();

// The current thread reads memory that others may write, with a volatile access or an atomic one
// that changes nothing. If it has just read the same, others go first; a loop that no thread can
// end is a deadlock. `is_loop`: it is one.
void may_spin(const void *address, Origin where, bool is_loop = false);
// The thread writes memory that others may read: if it was in such a loop, that has ended.
void spinning_thread_writes(Thread &thread);

// The running agent uses the shared memory of another CTA of the cluster: a thread of `cta` must be
// after that when `cta` exits (else LIFETIME). Nothing is noted for the agent's own CTA.
void peer_uses(Cta &cta, const Origin &where);

// The CTA exits: MISUSE if a part of a warpgroup has executed setmaxnreg.
void check_register_changes(const Cta &cta);

// "full[2]", or "the mbarrier at shared address 0x1e400" if its name is unknown; with " of CTA 1"
// if there are several CTAs.
std::string mbarrier_name(SharedRef barrier);

// The current thread is about to tell others. And where a thread has told them last, as far as the
// running agent knows: an operation's wait has to come before that. False if it has not.
void tells(Site where);
bool add_told(const Thread &thread, std::vector<Note> &notes);

// Why a thread, or what it issued, does not come after the copy that made an access: "" if it
// completes on no mbarrier.
std::string why_copy_unwaited(const order::Epoch &copy, const Thread &thread);
// Whether the barrier on which a copy completes, or a pending load, has more bytes than were
// announced: says so, and adds where they were announced; or "".
std::string too_few_bytes(const order::Epoch &copy, std::vector<Note> &notes);
std::string too_few_bytes(const Operation &load, std::vector<Note> &notes);

// Between grid.cpp, which makes the threads, ends them and says why none can go on, and
// scheduler.cpp, which lets them run. Runs the threads of the current cluster, one at a time,
// until all have exited; if they wait for other clusters, these run in between and one of them, the
// current one then, may come first. Pending operations may remain.
void run_threads();
// Makes another cluster the current one: of those that run or, if there is room, a new one.
void run_another_cluster();
void make_runnable(Thread &thread);
// Another cluster with a thread that can go on, or a new one, becomes the current one, if there is.
bool run_runnable_cluster();
// The current thread has exited; never returns.
[[noreturn]] void leave_for_good();
// Reports which threads wait for what, and ends the program.
[[noreturn]] void fail_with_deadlock(const Cluster &cluster);

// ---------------------------------------------------------------------------- strictness
// What differs for programs that were not written for the emulator (translated.h). The rungs keep
// rules that are stricter than PTX's.

// Whether this program is one of the former.
extern bool translated_program;

// A mistake of a translated program that the user may allow by its name, in EMULATOR_ALLOW (all:
// every one of them): then it is printed once for each place, and the program goes on. Otherwise it
// ends the program, as fail() does.
void fail_unless_allowed(const char *name, Mistake mistake, const std::vector<Note> &notes,
                         const char *what, ...) __attribute__((format(printf, 4, 5)));

// For a report that an address in shared memory is not aligned: what a program that declares less
// alignment than it needs should know. "shared-alignment" among the allowed names aligns all of it.
std::string hint_on_alignment();

// A launch begins: its kernel's static __shared__ variables have no places yet. With the dynamic
// part they may take `most` bytes.
void forget_static_shared(std::size_t most);

// Whether an address is in a thread's local memory, and no __grid_constant__ parameter.
bool is_local(const void *address);

// A kernel's __cluster_dims__ and __launch_bounds__; 0 where it has none.
struct KernelBounds {
    dim3 cluster{0, 0, 0};
    int threads = 0; // at most, of a CTA
    int ctas = 0;    // at least, of a multiprocessor
};

// Those of a translated kernel: `call` asks it.
KernelBounds bounds_of_kernel(void (*call)(const void *context), const void *context);
} // namespace emulator
