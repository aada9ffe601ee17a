// From an accumulator fragment to global memory. mma and wgmma leave each row of an 8 x 8 block of
// accumulators in four neighbouring lanes, two columns in each: 16 bytes of bf16, half a sector.
#pragma once

#include "device/vector.cuh"

// The first of the four columns that a lane stores of a row of two neighbouring blocks, 16 columns:
// 0, 8, 4, 12 in every four lanes.
__host__ __device__ constexpr int fragment_row_column(int lane) {
    return lane % 2 * 8 + lane % 4 / 2 * 4;
}

// Rounds one row of two neighbouring blocks to bf16 and writes its 16 columns, the first of them at
// `row` (32-byte aligned): the calling lane's accumulators are left0, left1 of the left block and
// right0, right1 of the right one. Neighbouring lanes exchange halves first: the even lane gives
// its pair of the right block, the odd lane its pair of the left. Four lanes then hold 32
// contiguous bytes, a whole sector. The whole warp calls it.
DEVICE void store_fragment_row(bf16 *row, float left0, float left1, float right0, float right1) {
    const int lane = threadIdx.x % WARP_THREADS;
    const bool odd = lane % 2;
    const uint32_t left = pack_bf16(left0, left1);
    const uint32_t right = pack_bf16(right0, right1);
    const uint32_t received = __shfl_xor_sync(0xffffffffu, odd ? left : right, 1);
    *reinterpret_cast<uint2 *>(row + fragment_row_column(lane)) =
        odd ? make_uint2(received, right) : make_uint2(left, received);
}
