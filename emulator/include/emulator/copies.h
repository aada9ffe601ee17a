// Asynchronous copies. TMA: loads that complete on an mbarrier, stores in bulk groups; of boxes of
// tensors. (PTX ISA: Tensors; cp.async.bulk.tensor.)
#pragma once

#include "emulator/mbarrier.h"
#include "emulator/site.h"

#include <cstddef>
#include <cstdint>

namespace emulator {
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
