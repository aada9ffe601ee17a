// mbarrier objects: 64 bits in shared memory, in the emulator's own packing, with a mark that tells
// an initialised one from anything else. (PTX ISA: mbarrier.)
#pragma once

#include "emulator/atomics.h"
#include "emulator/site.h"

#include <cstdint>

namespace emulator {

struct Cta;

// A barrier: the CTA it lies in and its offset in that CTA's shared memory.
struct MbarrierRef {
    Cta *cta;
    std::uint32_t offset;
};

// mbarrier.init by the current thread, on its own CTA: phases of `arrivals`, 1 to 2^20 - 1. No
// other thread may use the barrier before the thread's mbarrier_init_fence(). The line of source
// gives the barrier its name in reports: the n-th one that `mbarrier_init(&smem.full[stage], 1)`
// initialises is full[n]. MISUSE if there is a barrier already.
void mbarrier_init(std::uint64_t *barrier, int arrivals, Site where);

// fence.mbarrier_init.release.cluster: what the current thread initialised is ready to be used.
void mbarrier_init_fence(Site where);

// mbarrier.arrive with an optional announcement of bytes (expect_tx, done first); on the own CTA.
// Returns the phase arrived in, as a token for mbarrier_wait_token. Counts schedule points.
// (Here and below the manual's defaults: an arrival releases to the CTA, a wait acquires from it.)
std::uint64_t mbarrier_arrive(std::uint64_t *barrier, int bytes, Site where,
                              Order order = Order::RELEASE, Scope scope = Scope::CTA);

// mbarrier.arrive on the same barrier of CTA `cta_rank` of the cluster.
void mbarrier_arrive_remote(std::uint64_t *barrier, int cta_rank, Site where);

// mbarrier.try_wait.parity until it succeeds. Own CTA.
void mbarrier_wait_parity(std::uint64_t *barrier, int parity, Site where,
                          Order order = Order::ACQUIRE, Scope scope = Scope::CTA);

// mbarrier.try_wait with a token until it succeeds. A token is valid in its phase and the next one:
// fails with MISUSE if the barrier is past them.
void mbarrier_wait_token(std::uint64_t *barrier, std::uint64_t token, Site where,
                         Order order = Order::ACQUIRE, Scope scope = Scope::CTA);

// The forms of inline PTX, with a barrier of any CTA of the cluster: `count` arrivals,
// mbarrier.expect_tx and .complete_tx, and mbarrier.inval. Arrivals may drop out of the phases to
// come (mbarrier.arrive_drop), and may have to leave the phase incomplete (.noComplete: else
// MISUSE).
enum class Arrival { PLAIN, DROP, NO_COMPLETE, DROP_NO_COMPLETE };
std::uint64_t mbarrier_arrive(MbarrierRef barrier, int count, int bytes, Site where,
                              Order order = Order::RELEASE, Scope scope = Scope::CTA,
                              Arrival how = Arrival::PLAIN);
void mbarrier_expect_bytes(MbarrierRef barrier, int bytes, Site where);
void mbarrier_complete_bytes(MbarrierRef barrier, int bytes, Site where);
void mbarrier_invalidate(MbarrierRef barrier, Site where);

// mbarrier.test_wait or .try_wait: whether the phase has completed. TRY may suspend the thread
// first. A thread that polls for ever is part of a deadlock.
enum class Poll { TEST, TRY };
bool mbarrier_poll_parity(MbarrierRef barrier, int parity, Poll how, Site where,
                          Order order = Order::ACQUIRE, Scope scope = Scope::CTA);
bool mbarrier_poll_token(MbarrierRef barrier, std::uint64_t token, Poll how, Site where,
                         Order order = Order::ACQUIRE, Scope scope = Scope::CTA);

// Checks that there is an initialised barrier here that may be used; else fails with LIFETIME. For
// copies that will complete on it.
MbarrierRef mbarrier_at(Cta &cta, std::uint32_t offset, Site where);

// A copy announces that it completes on this barrier (counts how far the ring runs ahead), and
// later that `bytes` of it have landed. The latter may complete a phase; it releases to
// the threads that wait for it.
void mbarrier_copy_issued(MbarrierRef barrier);
void mbarrier_copy_landed(MbarrierRef barrier, int bytes, Site where);

// A CTA exits: bytes that landed and that no thread announced are LIFETIME, since no thread can
// have waited for them.
void mbarriers_cta_exits(const Cta &cta);

// A copy will arrive on the barrier: one arrival more in this phase. Called by the copy: it
// releases to the threads that wait, and arrives if it is the last one of several.
void mbarrier_copy_to_arrive(MbarrierRef barrier, Site where);
void mbarrier_copy_arrives(MbarrierRef barrier, bool last, Site where);

// What a CTA's barriers still hold when it exits is forgotten. Called at the end of a cluster.
void mbarriers_forget(const Cta &cta);

} // namespace emulator
