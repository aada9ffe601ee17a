// The arithmetic of the tensor cores: products of 16-bit operands are exact in fp32, and their sums
// are rounded to fp32 one after the other, in the order of k.
#pragma once

#include "formats/e4m3.h"

#include <cstring>

namespace emulator {

constexpr int MMA_K = 16; // columns of A and rows of B of one instruction
constexpr int WGMMA_M = 64;
constexpr int WGMMA_LARGEST_N = 256;

constexpr int BLOCK_ROWS = 4;
constexpr int BLOCK_COLUMNS = 8;

// d += a * b for a block of d. Rows of a lie MMA_K floats apart, those of d and b STRIDE.
template <int STRIDE>
void multiply_block(float *d, const float *a, const float *b) {
    // The compiler keeps vectors in registers, arrays not always. Every target has vectors of 16
    // bytes.
    typedef float Vector __attribute__((vector_size(16)));
    struct Row {
        Vector left, right;
    };
    static_assert(sizeof(Row) == BLOCK_COLUMNS * sizeof(float));
    Row sums[BLOCK_ROWS];
    for (int row = 0; row < BLOCK_ROWS; ++row)
        std::memcpy(&sums[row], d + row * STRIDE, sizeof(Row));
    for (int k = 0; k < MMA_K; ++k) {
        Row factors;
        std::memcpy(&factors, b + k * STRIDE, sizeof(Row));
        for (int row = 0; row < BLOCK_ROWS; ++row) {
            sums[row].left += a[row * MMA_K + k] * factors.left;
            sums[row].right += a[row * MMA_K + k] * factors.right;
        }
    }
    for (int row = 0; row < BLOCK_ROWS; ++row)
        std::memcpy(d + row * STRIDE, &sums[row], sizeof(Row));
}

// wgmma: acc = a * b, or acc += a * b where `accumulate`, for the accumulators of 128 threads:
// thread t holds rows 16 (t / 32) + (t % 32) / 4 and that plus 8; acc[t][4j] and acc[t][4j + 1] are
// columns 8j + 2 (t % 4) and the next of the first row, acc[t][4j + 2] and acc[t][4j + 3] the same
// columns of the second. a is [64][16], b [16][256] with n columns in use. (PTX ISA:
// wgmma.mma_async, D fragment layout.)
void multiply_fragments(float *const *acc, int n, bool accumulate, const float *a, const float *b);

// The same of e4m3: a is [64], b [n].
void multiply_fragments(float *const *acc, int n, bool accumulate, const e4m3_group *a,
                        const e4m3_group *b);

} // namespace emulator
