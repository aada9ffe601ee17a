// The arithmetic of wgmma on its fragments.
#pragma once

namespace emulator {

constexpr int WGMMA_M = 64;
constexpr int WGMMA_LARGEST_N = 256;

// acc = a * b, or acc += a * b where `accumulate`, for the accumulators of 128 threads: thread t
// holds rows 16 (t / 32) + (t % 32) / 4 and that plus 8; acc[t][4j] and acc[t][4j + 1] are columns
// 8j + 2 (t % 4) and the next of the first row, acc[t][4j + 2] and acc[t][4j + 3] the same columns
// of the second. a is [64][16], b [16][256] with n columns in use. Products and sums are rounded
// to fp32 one after the other, in the order of k. (PTX ISA: wgmma.mma_async, D fragment layout.)
void multiply_fragments(float *const *acc, int n, bool accumulate, const float *a, const float *b);

} // namespace emulator
