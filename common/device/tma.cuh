// TMA, the tensor memory accelerator: one thread names a box of a tensor in global memory, and the
// hardware copies it to or from shared memory, clipping at the tensor's edges and swizzling.
// (PTX ISA: Tensors; cp.async.bulk.tensor.)
#pragma once

#include "device/shared_memory.cuh"
#include "device/tensor_map.cuh"

// Makes a tensor map that lies in global memory usable by the calling thread's copies: maps are
// read through a proxy of their own, which has not seen the write that put the map there. Maps that
// are __grid_constant__ parameters need no fence. (PTX ISA: fence.proxy.tensormap.)
DEVICE void tensor_map_acquire(const TensorMap *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

// Starts the load of the box at (column, row) into `tile`, which is 128-byte aligned (1024 with
// the swizzle). One thread calls it. Completes the box's bytes, clipped parts included, on
// *barrier. An async-proxy write: whoever waits for the barrier's phase sees it.
DEVICE void tma_load_2d(void *tile, const TensorMap *map, int column, int row, uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

// The L2 policy of lines that are to stay: others are evicted before them.
// (PTX ISA: createpolicy; cache_hint of cp.async.bulk.tensor.)
DEVICE uint64_t evict_last_policy() {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// tma_load_2d, evict-last.
DEVICE void tma_load_2d_evict_last(void *tile, const TensorMap *map, int column, int row,
                                   uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)),
                 "l"(evict_last_policy())
                 : "memory");
}

// The L2 policy of lines that nobody will read again: they are the first to be evicted, and what is
// still needed stays. (PTX ISA: createpolicy; cache_hint of cp.async.bulk.tensor.)
DEVICE uint64_t evict_first_policy() {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// tma_load_2d for a map of whole operand stages: the load of [box_rows][bk] at (column, row).
DEVICE void tma_load_3d(bf16 *tile, const TensorMap *map, int column, int row, uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, 0}], [%4];" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

// tma_load_3d, evict-first: the lines are not worth keeping after this.
DEVICE void tma_load_3d_evict_first(bf16 *tile, const TensorMap *map, int column, int row,
                                    uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3, 0}], [%4], %5;" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)),
                 "l"(evict_first_policy())
                 : "memory");
}

// tma_load_3d into every CTA of the cluster whose bit is set in cta_mask: the box lands at the same
// offset of each one's shared memory, and each one's barrier at *barrier's offset counts the bytes.
DEVICE void tma_load_3d_multicast(bf16 *tile, const TensorMap *map, int column, int row,
                                  uint64_t *barrier, uint16_t cta_mask) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3, 0}], [%4], %5;" ::"r"(shared_address(tile)),
        "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(cta_mask)
        : "memory");
}

// Publishes the calling thread's earlier ordinary writes to shared memory to the async proxy, for
// which TMA and wgmma read. Every writing thread calls it, then a barrier, then one thread starts
// the store. (PTX ISA: fence.proxy.async.)
DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Starts the store of `tile` to the box at (column, row), evict-first; what lies past the matrix's
// edge is not written. Neither may be negative, which loads do allow. One thread calls it, and
// commits and waits for what it started.
DEVICE void tma_store_2d(const TensorMap *map, const void *tile, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
                 " [%0, {%1, %2}], [%3], %4;" ::"l"(map),
                 "r"(column), "r"(row), "r"(shared_address(tile)), "l"(evict_first_policy())
                 : "memory");
}

// The same with the priority that lines of the L2 normally have.
DEVICE void tma_store_2d_normal(const TensorMap *map, const void *tile, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                 " [%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(column), "r"(row), "r"(shared_address(tile))
                 : "memory");
}

// Closes the calling thread's bulk group: the stores it started since the last commit.
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most `PENDING` of the calling thread's latest bulk groups still read their source:
// older ones' shared memory may be overwritten. (PTX ISA: cp.async.bulk.wait_group.read.)
template <int PENDING>
DEVICE void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Waits until at most `PENDING` of the calling thread's latest bulk groups are incomplete: older
// ones are written.
template <int PENDING>
DEVICE void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
}
