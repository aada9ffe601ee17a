// mbarrier objects, and copies that complete on them or in groups. An mbarrier has 64 bits, in the
// emulator's own packing, with a mark that tells an initialised one. (PTX ISA: mbarrier.)
#pragma once

#include "emulator/atomics.h"
#include "emulator/site.h"

#include <cstddef>
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

// ---------------------------------------------------------------------------- TMA
// (PTX ISA: Tensors; cp.async.bulk.tensor.)

// The first element of a box in its tensor, the contiguous dimension first.
struct Coordinates {
    int rank;
    std::int32_t at[5];
};

// Starts the load of the map's box at these coordinates to `tile` (128-byte aligned; 1024 under the
// 128-byte swizzle for whole tiles) of every CTA in cta_mask (0: the barrier's alone), completing
// on the barrier at the same offset of each: the whole box's bytes, those outside of the tensor as
// well. The map is copied: the caller's need not outlive the call. MISUSE for a map in global
// memory, for one that was not encoded, for a tile that is not aligned, and for rows narrower than
// the swizzle, which are not modelled; ADDRESS for a tile or tensor outside of allocated memory;
// LIFETIME for a barrier that is not ready. HAZARD in a kernel that was launched early, by a thread
// that has not waited for the previous launch and is not ordered after one that has.
void tma_load(SharedRef tile, const void *map, const Coordinates &at, SharedRef barrier,
              std::uint16_t cta_mask, Site where);
// Starts a copy of the own CTA's bytes to those at `to`, in the barrier's CTA, completing on the
// barrier; all are multiples of 16. (cp.async.bulk.shared::cluster.shared::cta.) The same of a
// register's bytes. (st.async)
void bulk_send(SharedRef to, SharedRef from, std::uint32_t bytes, SharedRef barrier, Site where);
void store_async(SharedRef to, const void *value, std::uint32_t bytes, SharedRef barrier,
                 Site where);

// Starts the store of `tile` to the map's box, in the current thread's open bulk group. Checks like
// tma_load. `reduce` combines the global bytes with the tile's: cp.reduce.async.bulk.
using Reduce = void (*)(unsigned char *global, const unsigned char *tile, std::size_t bytes);
void tma_store(const void *map, const Coordinates &at, SharedRef tile, Site where,
               Reduce reduce = nullptr);

// fence.proxy.tensormap::generic.acquire: the CTA may use the map, which is in global memory.
void acquire_tensor_map(const void *map);

// The same load and store of bytes without a tensor. (cp.async.bulk)
void bulk_load(SharedRef to, const void *from, std::uint32_t bytes, SharedRef barrier,
               std::uint16_t cta_mask, Site where);
void bulk_store(void *to, SharedRef from, std::uint32_t bytes, Reduce reduce, Site where);

// cp.async.bulk.commit_group.
void bulk_commit(Site where);

// cp.async.bulk.wait_group{.read}: until at most `pending` of the thread's groups still have to
// read (read) or are incomplete.
void bulk_wait(int pending, bool read, Site where);

// ---------------------------------------------------------------------------- cp.async
// Per-thread copies of 4, 8 or 16 bytes from global to shared memory, in groups. (PTX ISA:
// cp.async.)

// Starts one copy: both addresses are aligned to its bytes (else MISUSE); the first `source_bytes`
// come from global memory, the rest are zeros. The destination must not be read before the wait;
// other threads see it only after a barrier that follows the wait.
void cp_async(SharedRef to, const void *global, int source_bytes, Site where, int bytes = 16);
void cp_async_commit(Site where);
// Waits until at most `pending` of the thread's groups are incomplete.
void cp_async_wait(int pending, Site where);

// cp.async.mbarrier.arrive: the thread's copies so far arrive on the barrier once all have landed.
// `counted`: the barrier's count has this arrival (.noinc); else the phase gets one more.
void cp_async_mbarrier_arrive(SharedRef barrier, bool counted, Site where);
} // namespace emulator
