// TMA, the tensor memory accelerator: one thread names a box of a tensor in global memory, and the
// hardware copies it to or from shared memory, clipping at the tensor's edges and swizzling.
// (PTX ISA: Tensors; cp.async.bulk.tensor.)
#pragma once

#include "device/shared_memory.cuh"
#include "device/tensor_map.cuh"

// Loads a tensor map into the cache from which copies read it; nothing waits for it. One thread
// calls it. (PTX ISA: prefetch.tensormap.)
DEVICE void tensor_map_prefetch(const TensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Starts the load of the box at (column, row) into `tile`, which is 128-byte aligned (1024 with the
// swizzle). One thread calls it. Completes the box's bytes, clipped parts included, on *barrier. An
// async-proxy write: threads that wait for the barrier's phase see it. The destination may also be
// .shared::cluster: on sm_90 that is the same instruction, but for sm_120 ptxas makes a call of it.
DEVICE void tma_load_2d(void *tile, const TensorMap *map, int column, int row, uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

// tma_load_2d into every CTA of the cluster whose bit is set in cta_mask: the box lands at the same
// offset of each one's shared memory, and each one's barrier at *barrier's offset counts the bytes.
DEVICE void tma_load_2d_multicast(void *tile, const TensorMap *map, int column, int row,
                                  uint64_t *barrier, uint16_t cta_mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "h"(cta_mask)
                 : "memory");
}

// An L2 policy: these lines stay, others are evicted before them. Not volatile: the compiler may
// move it out of a loop. (PTX ISA: createpolicy; cache_hint of cp.async.bulk.tensor.)
DEVICE uint64_t evict_last_policy() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// The same for lines that are not read again: they are the first to be evicted.
DEVICE uint64_t evict_first_policy() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// tma_load_2d with an L2 policy for the lines that it reads.
DEVICE void tma_load_2d_hint(void *tile, const TensorMap *map, int column, int row,
                             uint64_t *barrier, uint64_t policy) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "l"(policy)
                 : "memory");
}

// Orders the calling thread's earlier ordinary accesses to shared memory before later ones by the
// async proxy, through which TMA and wgmma access it. Every thread that has written what a TMA
// store is to read, or has read what a TMA load is to overwrite, calls it; then a barrier or an
// arrival; then one thread starts the store or the load. (PTX ISA: fence.proxy.async, Async proxy.)
DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Starts the store of `tile` to the box at (column, row); what is past the matrix's edge is not
// written. Neither coordinate may be negative; in loads they may. One thread calls it, and commits
// and waits for what it started.
DEVICE void tma_store_2d(const TensorMap *map, const void *tile, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"
                 " [%0, {%1, %2}], [%3];" ::"l"(map),
                 "r"(column), "r"(row), "r"(shared_address(tile))
                 : "memory");
}

// tma_store_2d with an L2 policy for the lines that it writes.
DEVICE void tma_store_2d_hint(const TensorMap *map, const void *tile, int column, int row,
                              uint64_t policy) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
                 " [%0, {%1, %2}], [%3], %4;" ::"l"(map),
                 "r"(column), "r"(row), "r"(shared_address(tile)), "l"(policy)
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
