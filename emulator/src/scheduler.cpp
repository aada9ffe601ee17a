#include "machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

// CUDA's built-in variables. They are those of the thread that runs.
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {
Thread *current = nullptr;
Cluster *current_cluster = nullptr;

namespace {
// lazy completes loads before the reads of the same memory, so that memory which was handed back
// too early is overwritten before it is read. What the random policy prefers is drawn.
constexpr Policy POLICIES[] = {{.name = "eager", .at_once = true},
                               {.name = "lazy", .kinds_in_order = true},
                               {.name = "random", .random = true}};

std::uint64_t generator = 0;

// The next number of the generator: SplitMix64, which takes any seed.
std::uint64_t next_random() {
    std::uint64_t z = generator += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

// The preferences span four orders of magnitude: most bugs need one kind of event to be late for
// long while others are quick.
Policy draw_policy(Policy drawn, std::uint64_t seed) {
    generator = drawn.seed = seed;
    const unsigned completes[] = {0, 1024, 64, 4};
    const unsigned yields[] = {0, 64, 4};
    const unsigned changes[] = {0, 256, 16};
    for (unsigned &rate : drawn.completes)
        rate = completes[random_below(4)];
    drawn.yields = yields[random_below(3)];
    drawn.changes_cta = changes[random_below(3)];
    drawn.favoured_cta = int(random_below(3)) - 1;
    drawn.operation = Pick(random_below(3));
    drawn.thread = Pick(random_below(3));
    drawn.kinds_in_order = random_below(2) == 0;
    return drawn;
}

// ---------------------------------------------------------------------------- threads
Fiber host;                 // what runs when no thread does
int last_rank = 0;          // of the CTA that ran last
bool leave_cta = false;     // a thread lets others go first
int time_outs_in_a_row = 0; // of waits, while nothing else happened
constexpr int MOST_TIME_OUTS = 1000;

// Threads that have timed out may be waiting for this.
void something_happened() { time_outs_in_a_row = 0; }

// Reads in a loop, of one address:
constexpr int FREE_READS = 2;  // before a loop is assumed,
constexpr int MOST_READS = 64; // while other threads go first; later the thread waits

bool is_spinning(const Thread &thread) { return thread.spin.reads > MOST_READS; }

void (*progress)(double grid_done, std::uint64_t multiply_adds) = nullptr;

Thread &take_thread(Cta &cta) {
    std::deque<Thread *> &queue = cta.run_queue;
    if (policy().thread == Pick::ANY)
        std::swap(queue.back(), queue[random_below(unsigned(queue.size()))]);
    const bool oldest = policy().thread == Pick::OLDEST;
    Thread *const taken = oldest ? queue.front() : queue.back();
    oldest ? queue.pop_front() : queue.pop_back();
    return *taken;
}

// The CTA that goes on, of those that can run: the favoured one, else the one that ran last, unless
// chance says another. If leave_cta is set, or none of these can run, it is the next one after the
// last in the direction of the policy's pick. nullptr if none can run.
Cta *pick_cta(const Cluster &cluster, int last) {
    const int count = int(cluster.ctas.size());
    const Policy &chosen = policy();
    const int step = chosen.thread == Pick::NEWEST ? count - 1 : 1;
    const auto runnable = [&cluster, count](int rank) {
        Cta *const cta = rank >= 0 && rank < count ? cluster.ctas[rank].get() : nullptr;
        return cta != nullptr && !cta->run_queue.empty() ? cta : nullptr;
    };
    if (!std::exchange(leave_cta, false)) {
        const bool changes = count > 1 && once_in(chosen.changes_cta);
        const int drawn = changes ? int(random_below(unsigned(count))) : chosen.favoured_cta;
        for (const int rank : {drawn, chosen.favoured_cta, last})
            if (Cta *cta = runnable(rank))
                return cta;
    }
    Cta *next = nullptr;
    for (int i = 1; i <= count && next == nullptr; ++i)
        next = runnable((last + i * step) % count);
    return next;
}

// Ends the waits of wait_until_or_time_out(), because nothing else can happen. False if there are
// none, or if their threads have only timed out for too long. Loops that read memory may wait for
// another cluster, which then becomes the current one.
bool time_out_waits(const Cluster &cluster) {
    if (++time_outs_in_a_row > MOST_TIME_OUTS)
        return false;
    bool found = false, spins = false;
    for (const std::unique_ptr<Cta> &cta : cluster.ctas)
        for (Thread &thread : cta->threads) {
            if (thread.times_out_in == nullptr)
                continue;
            found = true;
            spins |= is_spinning(thread);
            std::erase(std::exchange(thread.times_out_in, nullptr)->threads, &thread);
            make_runnable(thread);
        }
    if (spins)
        run_another_cluster();
    return found;
}

// Looks at the clock only now and then: a switch is much cheaper.
void tell_progress(const Cluster &cluster) {
    using Clock = std::chrono::steady_clock;
    static unsigned steps = 0;
    static Clock::time_point last = Clock::now();
    if (progress == nullptr || ++steps % 1024 != 0)
        return;
    const Clock::time_point now = Clock::now();
    if (now - last < std::chrono::milliseconds(100))
        return;
    last = now;
    const double threads = double(cluster.ctas.size() * cluster.ctas.front()->threads.size());
    const double unfinished = cluster.unfinished / threads;
    progress((cluster.index + 1 - unfinished) / cluster.count, counts.multiply_adds);
}

// The thread that goes on; pending operations complete until there is one.
Thread &next_thread() {
    for (;;) {
        const Cluster &cluster = *current_cluster;
        tell_progress(cluster);
        complete_some();
        if (Cta *cta = pick_cta(cluster, last_rank)) {
            last_rank = cta->rank;
            return take_thread(*cta);
        }
        if (complete_one() ||
            (proof::is_explored && (run_runnable_cluster() || proof::next_turn(false))))
            something_happened();
        else if (!time_out_waits(cluster) && !(proof::is_explored && proof::next_turn(true)))
            fail_with_deadlock(cluster);
    }
}

// Switches to the next thread. The one that ran continues later from `from`, maybe at once.
void switch_from(Fiber &from) {
    current = nullptr;
    Thread &thread = next_thread();
    thread.cta->shared.swap_in();
    blockIdx = thread.cta->block_index;
    threadIdx = thread.index;
    current = &thread;
    order::enter(*thread.context);
    if (&thread.fiber != &from)
        fiber_switch(from, thread.fiber);
}

// The current thread stays runnable, and is picked after the others.
void step_back() {
    std::deque<Thread *> &queue = current->cta->run_queue;
    if (policy().thread == Pick::NEWEST)
        queue.push_front(current);
    else
        queue.push_back(current);
    leave();
}
} // namespace

constinit Policy chosen_policy = POLICIES[0];

unsigned random_below(unsigned limit) { return unsigned((next_random() >> 32) * limit >> 32); }

bool once_in(unsigned times) { return times != 0 && random_below(times) == 0; }

void run_threads() {
    something_happened();
    const int ranks = int(current_cluster->ctas.size());
    last_rank = policy().thread == Pick::NEWEST ? ranks - 1 : 0;
    do
        switch_from(host); // comes back when a thread exits
    while (current_cluster->unfinished > 0);
    SharedMemory::swap_out();
}

void make_runnable(Thread &thread) { thread.cta->run_queue.push_back(&thread); }

void leave() { switch_from(current->fiber); }

// The scheduler must not run here: what it leaves on the stack would be the uninitialised variables
// of a later cluster's thread, and differ from run to run.
void leave_for_good() {
    Fiber &own = current->fiber;
    current = nullptr;
    fiber_switch(own, host);
    std::abort(); // no thread that has exited is picked
}

void WaitQueue::wake_all() {
    something_happened();
    for (Thread *thread : threads)
        make_runnable(*thread);
    threads.clear();
}

void maybe_step_back() {
    complete_some();
    if (once_in(policy().yields))
        step_back();
}

void let_others_run() {
    complete_one();
    leave_cta = true;
    step_back();
}

// ---------------------------------------------------------------------------- loops
// that read a flag or a lock until another thread changes it. Only the running thread could end
// them here, so others have to be let run: at first others go first; a thread that has read long
// enough waits until nothing else can happen, and is part of a deadlock if that changes nothing.

void may_spin(const void *address, Origin where, bool is_loop) {
    Spin &spin = current->spin;
    if (std::ranges::find(spin.read, address) == std::end(spin.read)) {
        if (is_spinning(*current))
            something_happened(); // the loop before has ended
        spin.read[spin.next++ % std::size(spin.read)] = address;
        spin.reads = 0;
    } else if (proof::is_in_turn()) {
        ++spin.reads;
    } else if ((spin.reads += is_loop ? MOST_READS : 1) > MOST_READS) {
        static WaitQueue spinning;
        wait_until_or_time_out(
            spinning, [] { return false; }, where,
            [] {
                return std::string("reads the same memory again and again, which no thread writes");
            });
    } else if (spin.reads > FREE_READS) {
        let_others_run();
    }
}

void spinning_thread_writes(Thread &thread) {
    if (is_spinning(thread))
        something_happened();
    thread.spin.reads = std::min(thread.spin.reads, FREE_READS);
}

void peer_uses(Cta &cta, const Origin &where) {
    if (cta.rank == order::running().who.cta)
        return;
    const order::Epoch epoch = order::epoch_now();
    cta.peer_uses[epoch.agent] = {
        epoch, current != nullptr ? current->cluster_arrivals : PeerUse::NEVER, where};
}
} // namespace emulator

void emulator_on_progress(void (*progress)(double grid_done, uint64_t multiply_adds)) {
    emulator::progress = progress;
}

const char *const *emulator_policies(void) {
    using emulator::POLICIES;
    static const char *const names[] = {POLICIES[0].name, POLICIES[1].name, POLICIES[2].name,
                                        nullptr};
    return names;
}

size_t emulator_fixed_policies(void) { return std::size(emulator::POLICIES) - 1; }

bool emulator_choose_policy(const char *name, uint64_t seed) {
    using namespace emulator;
    const Policy *found = std::ranges::find(POLICIES, std::string_view(name), &Policy::name);
    if (found == std::end(POLICIES))
        return false;
    chosen_policy = found->random ? draw_policy(*found, seed) : *found;
    return true;
}
