// fp16: the type, 16-byte accesses, and sums of mma.sync that are held in fp16 or in fp32.
#pragma once

#include "device/base.cuh"
#include "device/mma_sync.cuh"

#include <cuda_fp16.h>
#include <type_traits>

using fp16 = __half;
constexpr int CHUNK = 8; // values in a 16-byte access

// A lane's sums of a 16 x 8 tile: two neighbours in row lane / 4, two more in the row 8 below it.
template <bool FP16_SUMS>
using TileSums = std::conditional_t<FP16_SUMS, uint32_t[2], float[4]>;

// acc += A * B; the type of the sums selects the instruction. See mma_sync.cuh.
DEVICE void mma_m16n8k16(uint32_t (&acc)[2], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma_m16n8k16_f16_f16(acc, a, b);
}
DEVICE void mma_m16n8k16(float (&acc)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma_m16n8k16_f16_f32(acc, a, b);
}

// The upper (0) or lower (1) pair of such sums as two fp16, the first at the lower address.
DEVICE uint32_t packed_pair(const uint32_t (&acc)[2], int pair) { return acc[pair]; }
DEVICE uint32_t packed_pair(const float (&acc)[4], int pair) {
    const __half2 packed = __floats2half2_rn(acc[2 * pair], acc[2 * pair + 1]);
    return *reinterpret_cast<const uint32_t *>(&packed);
}

// Copies 8 values with one load and one store, both addresses 16-byte aligned.
DEVICE void copy8(fp16 *to, const void *from) {
    *reinterpret_cast<uint4 *>(to) = *static_cast<const uint4 *>(from);
}

// Writes 8 zeros with one store, 16-byte aligned.
DEVICE void zero8(fp16 *to) { *reinterpret_cast<uint4 *>(to) = make_uint4(0, 0, 0, 0); }

// Reads two neighbouring values with one 4-byte access, 4-byte aligned.
DEVICE uint32_t load_pair(const fp16 *from) { return *reinterpret_cast<const uint32_t *>(from); }

// The same at (row, column) of a matrix with rows of k values. Columns past the end read as zeros;
// rows past the end read the last row.
DEVICE uint32_t load_pair_inside(const fp16 *matrix, int row, int rows, int column, int k) {
    return column < k ? load_pair(&matrix[size_t(min(row, rows - 1)) * k + column]) : 0;
}

// Writes two neighbouring values with one 4-byte access, 4-byte aligned.
DEVICE void store_pair(fp16 *to, uint32_t pair) { *reinterpret_cast<uint32_t *>(to) = pair; }
