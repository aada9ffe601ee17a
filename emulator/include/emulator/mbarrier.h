// mbarrier objects: 64 bits in shared memory, in the emulator's own packing, with a mark that tells
// an initialised one from anything else. (PTX ISA: mbarrier.)
#pragma once

#include "emulator/atomics.h"
#include "emulator/site.h"

#include <cstdint>

namespace emulator {
struct Cta;

// An object in shared memory: its CTA, and its offset there.
struct SharedRef {
    Cta *cta;
    std::uint32_t offset;

    SharedRef(Cta *cta, std::uint32_t offset) : cta(cta), offset(offset) {}
    // The own CTA's: ADDRESS for anything else.
    SharedRef(const void *object, Site where);
};

// mbarrier.init by the current thread, on its own CTA: phases of `arrivals`, 1 to 2^20 - 1. No
// other thread may use the barrier before the thread's mbarrier_init_fence(). The line of source
// gives the barrier its name in reports: the n-th one that `mbarrier_init(&smem.full[stage], 1)`
// initialises is full[n]. MISUSE if there is a barrier already.
void mbarrier_init(SharedRef barrier, int arrivals, Site where);

// fence.mbarrier_init.release.cluster: what the current thread initialised is ready to be used.
void mbarrier_init_fence(Site where);

// `count` arrivals (mbarrier.arrive) with an optional announcement of bytes (expect_tx, done
// first). They may drop out of the phases to come (mbarrier.arrive_drop), or may not complete the
// phase (.noComplete: else MISUSE). Returns the phase arrived in, as a token for
// mbarrier_wait_token. (Here and below the manual's defaults: an arrival releases to the CTA, a
// wait acquires from it.)
std::uint64_t mbarrier_arrive(SharedRef barrier, int bytes, Site where,
                              Order order = Order::RELEASE, Scope scope = Scope::CTA, int count = 1,
                              bool drop = false, bool no_complete = false);

// mbarrier.expect_tx, .complete_tx, and mbarrier.inval.
void mbarrier_expect_bytes(SharedRef barrier, int bytes, Site where);
void mbarrier_complete_bytes(SharedRef barrier, int bytes, Site where);
void mbarrier_invalidate(SharedRef barrier, Site where);

// mbarrier.test_wait, mbarrier.try_wait, which may suspend the thread first, or try_wait until it
// succeeds: whether the phase has completed. A thread that polls for ever is part of a deadlock.
// A token is valid in its phase and the next one: MISUSE if the barrier is past them.
enum class Poll { TEST, TRY, UNTIL_DONE };
bool mbarrier_wait_parity(SharedRef barrier, int parity, Site where, Order order = Order::ACQUIRE,
                          Poll how = Poll::UNTIL_DONE);
bool mbarrier_wait_token(SharedRef barrier, std::uint64_t token, Site where,
                         Order order = Order::ACQUIRE, Poll how = Poll::UNTIL_DONE);

// A copy of the async proxy announces that it completes on this barrier, which has to be ready for
// it (else LIFETIME; counts how far the ring runs ahead), and later that `bytes` of it have landed.
// The latter may complete a phase; it releases to the threads that wait for it.
void mbarrier_copy_issued(SharedRef barrier, Site where);
void mbarrier_copy_landed(SharedRef barrier, int bytes, Site where);

// The current thread's copies will arrive on the barrier: one arrival more in this phase, if it is
// not counted yet; those that have landed release to it. Called by a copy: it releases to the
// threads that wait, and arrives if it is the last one of several.
void mbarrier_copy_to_arrive(SharedRef barrier, bool counted, Site where);
void mbarrier_copy_arrives(SharedRef barrier, bool last, Site where);

// A CTA exits: bytes that landed and that no thread announced are LIFETIME, since no thread can
// have waited for them.
void mbarriers_cta_exits(Cta &cta);
} // namespace emulator
