// TMA: tensor maps, loads that complete on an mbarrier, stores in bulk groups. (PTX ISA: Tensors;
// cp.async.bulk.tensor. CUDA Driver API: cuTensorMapEncodeTiled.)
#pragma once

#include "emulator/site.h"

#include <cstdint>

namespace emulator {

constexpr int TENSOR_RANK = 5;

// What a tensor map holds; it is stored inside the 128 bytes of a CUtensorMap.
struct TensorDescription {
    std::uint64_t mark; // tells an encoded map from anything else
    void *base;
    std::uint64_t size[TENSOR_RANK];       // elements
    std::uint64_t stride[TENSOR_RANK - 1]; // bytes, from dimension 1 on
    std::uint16_t box[TENSOR_RANK];        // elements
    std::uint8_t rank;
    std::uint8_t element_bytes;
    std::uint8_t swizzle; // CUtensorMapSwizzle
    bool fill_nan;        // what lies outside reads as NaN instead of 0
};
static_assert(sizeof(TensorDescription) <= 128, "it has to fit in a CUtensorMap");

// Encodes a map and checks what cuTensorMapEncodeTiled checks: alignment of base and strides,
// sizes, boxes of 1 to 256, inner box within the swizzle's span and a multiple of 16 bytes. Element
// strides other than 1 are not modelled. Returns the driver's error code: 0 or
// CUDA_ERROR_INVALID_VALUE.
int encode_tensor(void *map, int rank, int element_bytes, void *base, const std::uint64_t *size,
                  const std::uint64_t *stride, const std::uint32_t *box,
                  const std::uint32_t *element_stride, int swizzle, bool fill_nan);

// Starts the load of the map's box at `coordinates` to `tile` (128-byte aligned; 1024 under the
// 128-byte swizzle for whole tiles) of every CTA in cta_mask (0: the own CTA alone), completing on
// the barrier at the same offset of each: the whole box's bytes, those outside of the tensor as
// well. The map is copied: the caller's may go away. MISUSE for a map in global memory, for one
// that is none or of another rank, for a tile that is not aligned, and for rows narrower than the
// swizzle, which are not modelled; ADDRESS for a tile or tensor outside of the memory that there
// is; LIFETIME for a barrier that is not ready. HAZARD in a kernel that was launched early, by a
// thread that has not waited for the launch before and does not come after one that has.
void tma_load(void *tile, const void *map, const int *coordinates, int rank, std::uint64_t *barrier,
              std::uint16_t cta_mask, Site where);

// Starts the store of `tile` to the map's box, in the current thread's open bulk group. Checks like
// tma_load, and HAZARD if the tile holds generic writes that were not published, if it is
// overwritten before the store has read it, or if the thread has not waited for the writes of an
// earlier store of its own to the same place.
void tma_store(const void *map, const void *tile, const int *coordinates, int rank, Site where);

// cp.async.bulk.commit_group.
void bulk_commit(Site where);

// cp.async.bulk.wait_group{.read}: until at most `pending` of the thread's groups still have to
// read (read) or are incomplete.
void bulk_wait(int pending, bool read, Site where);

// The thread exits: MISUSE if it has stores that it never committed. (Stores that still have to
// read shared memory when the last thread of a CTA exits are operations that the scheduler finds.)
struct Thread;
void tma_thread_exits(Thread &thread);

// A box's offset after swizzling: shared addresses are permuted within 8 rows of 128, 64 or 32
// bytes. swizzle as in CUtensorMapSwizzle: 0 none, 1 32B, 2 64B, 3 128B. (PTX ISA: Swizzling.)
std::uint32_t swizzle_address(std::uint32_t address, int swizzle);

} // namespace emulator
