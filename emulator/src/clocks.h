// Vector clocks: what an agent (a thread, or an asynchronous operation) knows of the others.
// Happens before is one comparison: a knows of b's access if a's clock holds at least the time at
// which b made it.
//
// A time has four parts, so that one clock answers four questions. Shared memory and global memory
// differ where an arrival on a peer's mbarrier orders the one and not the other; and "fenced" is
// how much of what the generic proxy did is followed by a proxy fence. (PTX ISA: Memory Consistency
// Model, Causality Order, Proxies.)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace emulator {
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
} // namespace emulator
