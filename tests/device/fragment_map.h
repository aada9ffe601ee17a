/* Where a warpgroup's wgmma accumulators stand in D [64][N], as the PTX manual draws it. */
#ifndef GEMM_LADDER_TESTS_DEVICE_FRAGMENT_MAP_H
#define GEMM_LADDER_TESTS_DEVICE_FRAGMENT_MAP_H

/* Row of accumulator i, 0 to N / 2 - 1, of thread 0 to 127. */
__host__ __device__ constexpr int fragment_row(int thread, int i) {
    return 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
}

/* Its column. */
__host__ __device__ constexpr int fragment_column(int thread, int i) {
    return 8 * (i / 4) + 2 * (thread % 4) + i % 2;
}

#endif
