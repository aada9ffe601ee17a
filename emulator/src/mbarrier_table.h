// What the emulator knows of a cluster's mbarriers besides the 64 bits of each in shared memory;
// and the checks before any use of one.
#pragma once

#include "machine.h"
#include "emulator/mbarrier.h"
#include "order.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emulator {

// What an mbarrier is called in reports: the name that the line which initialises it gives it.
struct BarrierName {
    std::string name;     // "full"; empty if the line has none
    bool indexed = false; // one of an array
    int index = -1;       // if the line itself names it
};

// The name in a line such as `mbarrier_init(&smem.full[stage], 1)` or `smem.full.init(1)`.
BarrierName barrier_name_in(const std::string &line);

// "full[2]", or "the mbarrier at shared address 0x1e400" if its name is unknown; with " of CTA 1"
// if there are several CTAs.
std::string mbarrier_name(MbarrierRef barrier);

// Copies that complete on a barrier and that no consumer has waited for.
struct CopiesAhead {
    std::uint64_t phase;
    const Thread *issuer; // of the first
};

// What is known of a barrier besides its 64 bits, which must not change.
struct Barrier {
    MbarrierRef place{};
    Site init_site{};
    BarrierName name;
    const Thread *initialiser = nullptr;
    order::Epoch init;          // async once fence.mbarrier_init has followed
    std::uint64_t ready_in = 0; // the phase of the cluster's barrier that came after that fence
    bool by_ptx =
        false;        // initialised by inline PTX: the manual's rules, not the rungs' stricter ones
    int expected = 0; // arrivals of a phase
    int pending = 0;  // of them, those missing in this one
    int bytes = 0;    // tx-count: announced and not landed, or less than 0
    int announced = 0;  // bytes of this phase
    Site unannounced{}; // the last copy that took bytes below 0
    std::uint64_t phase = 0;
    WaitQueue waiting;
    order::Carrier order[2]; // even, odd phases
    bool in_ring = false;
    std::vector<CopiesAhead> ahead;
};

// The barriers of a CTA by offset.
struct Barriers {
    std::unordered_map<std::uint32_t, std::unique_ptr<Barrier>> by_offset;
    std::map<std::pair<const char *, unsigned>, int> made_at; // how many each line has initialised
    std::uint64_t ring_slots = 0;
    std::uint64_t ahead = 0; // phases with copies that no consumer has waited for
};

// The barriers of a CTA; empty to begin with.
Barriers &barriers_of(const Cta &cta);

// The barrier at a place, or nullptr.
Barrier *find_barrier(MbarrierRef place);

// What was released there is released to the barrier's phase, too.
void mbarrier_hand_over(MbarrierRef place, order::Carrier &from);

// Writes a barrier's 64 bits to shared memory, as they follow from the rest.
void store_barrier(const Barrier &barrier);

// Gives a new barrier its name: that of the line which initialises it and, for an element of an
// array, a number in the order in which that line does.
void name_barrier(Barrier &barrier);

// The barrier at a place, whole and initialised; else fails with LIFETIME.
Barrier &whole_barrier(MbarrierRef place, Site where);

// Fails with LIFETIME before the initialising thread's mbarrier_init_fence(). In programs that were
// not written for the emulator fence.proxy.async will do for copies, and threads need neither: what
// orders them is enough. `did` says what the thread did.
void check_fenced(const Barrier &barrier, Site where, const char *did);

// The barrier, if the current thread may use it; else fails with LIFETIME.
Barrier &usable_barrier(MbarrierRef place, Site where);

// "full[2] of CTA 0, phase 3 (parity 1): 1 of 1 arrivals missing, 4096 of 8192 bytes missing".
std::string state_of(const Barrier &barrier);

// Notes for a report: which thread did what just now, and where the barrier was initialised.
std::vector<Note> notes_of(const Barrier &barrier, Site where, const char *did);

} // namespace emulator
