// TMA, the tensor memory accelerator: one thread names a box of a tensor in global memory, and the
// hardware copies it to or from shared memory, clipping at the tensor's edges and swizzling.
// A tensor map describes the tensor and the box; it is made on the host.
// (PTX ISA: Tensors; cp.async.bulk.tensor. CUDA Driver API: cuTensorMapEncodeTiled.)
#pragma once

#include "device/launch.cuh"
#include "device/shared_memory.cuh"
#include "device/swizzle.cuh"

#include <cuda.h>

using TensorMap = CUtensorMap;

// ---------------------------------------------------------------------------- host: tensor maps

// The type of the driver's function that makes a tensor map.
using TensorMapEncoder = decltype(&cuTensorMapEncodeTiled);

// The driver's encoder, found at run time: the program does not link the driver's library, so that
// it starts, and says what is missing, on a machine that has none. nullptr after printing one line.
inline TensorMapEncoder tensor_map_encoder() {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const int cuda_12_0 = 12000;
    if (launch_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                      cuda_12_0, cudaEnableDefault, &found),
                     "asking the driver for cuTensorMapEncodeTiled of CUDA", cuda_12_0))
        return nullptr;
    if (found == cudaDriverEntryPointSuccess)
        return reinterpret_cast<TensorMapEncoder>(function);
    fprintf(stderr,
            "this driver has no cuTensorMapEncodeTiled: install one for CUDA 12.0 or later\n");
    return nullptr;
}

// Fills *map for a bf16 tensor of `rank` dimensions, the contiguous one first, and the 128-byte
// swizzle. sizes and box are in elements; strides[i] is the distance, in bytes, between neighbours
// in dimension i + 1. Returns 0, or 1 after printing one line.
inline int encode_tensor_map(TensorMap *map, const void *base, int rank, const cuuint64_t *sizes,
                             const cuuint64_t *strides, const cuuint32_t *box) {
    const TensorMapEncoder encode = tensor_map_encoder();
    if (encode == nullptr)
        return 1;
    const cuuint32_t element_strides[3] = {1, 1, 1};
    const CUresult status = encode(
        map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, cuuint32_t(rank), const_cast<void *>(base), sizes,
        strides, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status == CUDA_SUCCESS)
        return 0;
    fprintf(stderr,
            "making a tensor map of %llu columns and %llu rows with a box of %u columns and %u "
            "rows failed with CUDA driver error %d: rows must be 16-byte aligned\n",
            (unsigned long long)sizes[0], (unsigned long long)sizes[1], box[0], box[1],
            int(status));
    return 1;
}

// Map of the row-major bf16 matrix [rows][columns] for boxes of [box_rows][box_columns] under the
// 128-byte swizzle: box_columns is 64 at most, columns a multiple of 8. Returns 0, or 1 after
// printing one line.
inline int make_tensor_map_2d(TensorMap *map, const void *matrix, int rows, int columns,
                              int box_rows, int box_columns) {
    const cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)};
    const cuuint64_t strides[1] = {cuuint64_t(columns) * sizeof(bf16)};
    const cuuint32_t box[2] = {cuuint32_t(box_columns), cuuint32_t(box_rows)};
    return encode_tensor_map(map, matrix, 2, sizes, strides, box);
}

// Map of the row-major bf16 matrix [rows][columns] for whole operand stages of [box_rows][bk], bk a
// multiple of 64. The third dimension steps over the stage's slices of 64 columns, 128 bytes apart
// in a row, because the swizzle cannot span more; the box holds all slices, one after the other.
// With one slice (bk = 64) columns past the edge are zero-filled; with more, `columns` must be a
// multiple of bk, since TMA clips each dimension by itself. Returns 0, or 1 after
// printing one line.
inline int make_tensor_map_3d(TensorMap *map, const void *matrix, int rows, int columns,
                              int box_rows, int bk) {
    const int slices = bk / SWIZZLE_COLUMNS;
    const cuuint64_t sizes[3] = {cuuint64_t(columns), cuuint64_t(rows), cuuint64_t(slices)};
    const cuuint64_t strides[2] = {cuuint64_t(columns) * sizeof(bf16), SWIZZLE_BYTES};
    const cuuint32_t box[3] = {SWIZZLE_COLUMNS, cuuint32_t(box_rows), cuuint32_t(slices)};
    return encode_tensor_map(map, matrix, 3, sizes, strides, box);
}

// ------------------------------------------------------------------------------ device: copies

// Makes a tensor map that lies in global memory usable by the calling thread's copies: maps are
// read through a proxy of their own, which has not seen the write that put the map there. Maps that
// are __grid_constant__ parameters need no fence. (PTX ISA: fence.proxy.tensormap.)
DEVICE void tensor_map_acquire(const TensorMap *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

// Starts the load of the box at (column, row) into `tile`, which is 128-byte aligned (1024 with
// the swizzle). One thread calls it. Completes the box's bytes, clipped parts included, on
// *barrier. An async-proxy write: whoever waits for the barrier's phase sees it.
DEVICE void tma_load_2d(bf16 *tile, const TensorMap *map, int column, int row, uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

// The same for a map of whole operand stages: the load of [box_rows][bk] at (column, row).
DEVICE void tma_load_3d(bf16 *tile, const TensorMap *map, int column, int row, uint64_t *barrier) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3, 0}], [%4];" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

// The same into every CTA of the cluster whose bit is set in cta_mask: the box lands at the same
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

// The L2 policy of lines that nobody will read again: they are the first to be evicted, and what is
// still needed stays. (PTX ISA: createpolicy; cache_hint of cp.async.bulk.tensor.)
DEVICE uint64_t evict_first_policy() {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// Starts the store of `tile` to the box at (column, row), evict-first; what lies past the matrix's
// edge is not written. One thread calls it, and commits and waits for what it started.
DEVICE void tma_store_2d(const TensorMap *map, const bf16 *tile, int column, int row) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
                 " [%0, {%1, %2}], [%3], %4;" ::"l"(map),
                 "r"(column), "r"(row), "r"(shared_address(tile)), "l"(evict_first_policy())
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
