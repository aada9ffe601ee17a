// Who is ordered after whom: one happens-before relation over agents, which are threads and
// asynchronous operations. Each has a clock (below); carriers (barriers, mbarriers, atomics,
// groups) take clocks from those that release to those that acquire. cells.h asks it about every
// byte. (PTX ISA: Memory Consistency Model.)
#pragma once

#include "emulator/atomics.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace emulator {
// Vector clocks: what an agent (a thread, or an asynchronous operation) knows of the others.
// Happens before is one comparison: a knows of b's access if a's clock holds at least the time at
// which b made it.
//
// A time has four parts, so that one clock answers four questions. Shared memory and global memory
// differ where an arrival on a peer's mbarrier orders the one and not the other; and "fenced" is
// how much of what the generic proxy did is followed by a proxy fence. (PTX ISA: Causality Order.)

enum class Space { SHARED, GLOBAL };

struct alignas(16) Times {
    std::int32_t done[2] = {};   // by Space
    std::int32_t fenced[2] = {}; // the same, for the async proxy

    bool operator==(const Times &) const = default;
};

// What is known of an agent besides the base.
struct Stamp {
    std::uint32_t agent;
    Times times;

    bool operator==(const Stamp &) const = default;
};

// The times of all agents of a cluster, by number. Never changed, so that the threads of a warp,
// which learn the same, share one.
using Base = std::shared_ptr<const std::vector<Times>>;
inline Times times_of(const Base &base, std::uint32_t agent) {
    return base != nullptr && agent < base->size() ? (*base)[agent] : Times{};
}

struct Clock {
    Base base;                         // of the own cluster's agents
    std::vector<Stamp> stamps;         // newer than the base
    Base streams;                      // what has ended on each stream, and the host's calls
    std::map<std::uint32_t, Base> far; // other clusters of the launch, by their serial numbers

    Times of(std::uint32_t agent) const;
    void add(const Stamp &stamp);
};

// The larger of each pair of times; one of the two itself if nothing in it is smaller.
Base joined(const Base &a, const Base &b);
// A new base: another one with stamps besides.
std::shared_ptr<std::vector<Times>> with_stamps(const Base &base, const std::vector<Stamp> &stamps);

// All that a clock holds of a space is fenced, as after a proxy fence.
void fence(Clock &clock, Space space);

// Adds to a clock all that another one of the same cluster holds.
void join(Clock &to, const Clock &from);
// Adds what another cluster's clock holds, whose serial number is `serial`; the own one is `own`.
void join_far(Clock &to, std::uint32_t own, const Clock &from, std::uint32_t serial);

// What the releases of several agents come to. It is a clock once somebody asks.
class Gathered {
public:
    // What an agent knows, and its own time; or what of both is about shared memory.
    void add(const Clock &clock, const Stamp &self);
    void add_of_shared(const Clock &clock, const Stamp &self);
    void add(const Stamp &self) { sum_.add(self); }
    const Clock &sum();

private:
    std::vector<Base> bases_; // to be joined to the sum's
    Clock sum_;               // its stamps may be many, and several of one agent, until then
};

namespace order {
// What an agent is. Reports show it as text.
struct Identity {
    int thread;                      // in its CTA
    int cta;                         // in its cluster
    const char *operation = nullptr; // "TMA load"; nullptr for the thread itself
    Site where{};                    // of an operation's issue
    std::uint64_t group = 0;         // of an operation, by its number
};

// A release that came from one CTA with one scope.
struct Part {
    Scope scope;
    std::uint32_t cluster; // serial number of the releasing agent's
    int cta;
    Gathered sum;
};

// An object that carries order from the agents that release it to those that acquire it later.
struct Carrier : std::vector<Part> {};

// What an agent was found to know: it never knows less.
struct Found {
    std::uint32_t agent = 0;
    std::int32_t time = 0;
};

struct Context {
    static constexpr std::size_t FOUND = 32;

    Identity who;
    std::uint32_t cluster = 0; // serial number, from 1 on
    Stamp self{0, {{1, 1}}};   // its own number and time
    Stamp issue{};             // of an operation: its issuer's at the issue
    Clock clock;               // what it knows of others
    bool async = false;        // its accesses are of the async proxy
    Carrier fenced;            // what the last fence of the thread released
    Found found[2][FOUND];     // by Space, and by number
};

// The agent that runs; the host's between launches. A switch orders nothing.
Context &running();
void enter(Context &context);

// Launches and copies on a stream, one after the other. What they do is known to what comes later
// on the stream, to the host when it waits, and to other streams by events. nullptr: the default
// stream, which waits for all that are not non-blocking, and they for it.
void stream_created(const void *stream, bool non_blocking);
void begin_on(const void *stream, bool early); // until end_work()
void end_work();
void host_waits_for(const void *stream);
void host_waits_for_all();
void record_event(const void *event, const void *stream);
void wait_for_event(const void *event, const void *stream);
void host_waits_for_event(const void *event);

// A cluster begins, whose threads are numbered through its CTAs.
void begin_cluster(int index, int count, int threads);
// A thread of it, which knows what came before the launch; and an operation that `issuer` starts
// now, under a number of its own or under that of operations which complete one after the other.
std::unique_ptr<Context> make_thread(int thread, int cta, int threads_of_cta);
constexpr std::uint32_t NO_AGENT = 0xffffffff;
std::unique_ptr<Context> make_operation(Context &issuer, const Identity &who, bool async,
                                        std::uint32_t agent = NO_AGENT);
std::uint32_t new_agent();
// The operation, which had a number of its own, has ended.
void end_operation(const Context &operation);

// griddepcontrol.wait: the agent is after the launch before. is_after_launch_before() says whether
// the running one is.
void waited_for_launch_before();
bool is_after_launch_before();

// What the running agent did happens before what those do who acquire. `weak`: for shared memory
// alone, as for a peer that an arrival of .cta scope reaches.
void release(Carrier &carrier, Scope scope = Scope::SYS, bool weak = false);
// The same of an operation's own accesses, without what came before its issue.
void release_own(Carrier &carrier);
// What was released to `from` is released to `to`, too, with that scope at most.
void pass_on(Carrier &to, Carrier &from, Scope scope = Scope::SYS);
// A relaxed write, which releases what a fence before it did; and a read, which if it is relaxed
// acquires once a fence follows.
void release_relaxed(Carrier &carrier, Scope scope);
void acquire(Carrier &carrier, Scope scope = Scope::SYS, bool is_relaxed = false);
// A CTA's barrier, from and to Context::fenced: what fences before it released, the relaxed writes
// of all threads after it release, too.
void merge(Carrier &to, Carrier &from);

// fence.proxy.async: what the thread did by the generic proxy (`own`), or everything that it is
// after, comes before what async operations do that are ordered after the fence.
void fence_proxy(Space space, bool own);

// fence.acq_rel of the thread; and its reads and writes of an atomic at an address.
void fence(Scope scope);
void atomic_read(const void *address, Scope scope, bool acquires);
void atomic_write(const void *address, Scope scope, bool releases, bool reads_too);
// Whether the thread has executed a fence in this launch.
bool has_fenced();

// An access as cells.h keeps it.
struct Epoch {
    std::uint32_t cluster = 0; // serial number; 0: there was none
    std::uint32_t agent = 0;
    std::int32_t time = 0;
    std::uint32_t lanes = 0; // 0; or threads of a warp, which begins at `agent`, at the same time
    std::uint32_t place = 0; // cells.cpp's
    std::uint8_t async = 0, strength = 0, scope = 0, cta = 0;
};

// Whether the running agent is after an access; whether no proxy fence follows the access, of the
// generic proxy, before what the running agent does by the async proxy; and whether an earlier
// launch or copy made it.
bool is_before(const Epoch &epoch, Space space);
std::int32_t known_time(const Context &agent); // up to when that one's doings are before
bool is_unfenced(const Epoch &epoch, Space space);
bool is_of_earlier_work(const Epoch &epoch);
// Is the running agent after everything that was released here? If not: `missing` is what is not.
bool is_after(Carrier &carrier, Epoch *missing = nullptr);
// Whether whoever acquires the carrier is after the access, which was in shared memory.
bool covers(Carrier &carrier, const Epoch &epoch);
// Whether a relaxed read of the CTA has found what follows the access, and lacks a fence.
bool awaits_fence(const Epoch &epoch);
// The running agent's access that is made now.
Epoch epoch_now();
// What a clock, of the cluster `own`, knows of the agent that made an access in the same launch.
Times known_of(const Epoch &epoch, const Clock &clock, std::uint32_t own);
// The thread that issued the operation of an access, if that is known, or else made it.
Identity issuer_of(const Epoch &epoch);
// Whether the running agent is after the issue of the operation that made the access.
bool knows_issue_of(const Epoch &epoch);
// Whether both are in each other's scope.
bool in_scope(const Epoch &epoch, Scope scope);

// Of lanes that made an access together, the first one that the running agent is not after.
Epoch unknown_lane(Epoch epoch);
// Who made an access: "thread 3 of CTA 0 (warp 0, lane 3)", with the cluster if there are several.
std::string name_of(const Epoch &epoch);
} // namespace order
} // namespace emulator
