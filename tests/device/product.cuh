// A warpgroup's product by wgmma, and where its sums are.
#pragma once

#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "device/wgmma_e4m3.cuh"
#include "frame.cuh"

// Where accumulator i, 0 to N / 2 - 1, of thread 0 to 127 is in D [64][N], as the PTX manual draws
// it.
DEVICE int fragment_row(int thread, int i) {
    return 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
}
DEVICE int fragment_column(int thread, int i) { return 8 * (i / 4) + 2 * (thread % 4) + i % 2; }

template <typename T, int N>
struct OperandTiles {
    static constexpr int K = std::is_same_v<T, e4m3> ? 32 : 64; // of e4m3: one wgmma's
    static constexpr int PITCH = SWIZZLE_BYTES / int(sizeof(T));
    alignas(1024) T a[(32 + 64) * PITCH]; // 32 rows that are not meant, and A
    alignas(1024) T b[N * PITCH];
};

// d [tile][64][N] = a [tile][64][K] * b [tile][N][K]^T, plus d if `accumulate`, as it always is of
// e4m3. A CTA has a tile, in blocks of columns, each with wgmmas of its own.
template <typename T, int N, int BLOCKS = 1>
__global__ void multiply(const T *a, const T *b, bool accumulate, float *d) {
    using Smem = OperandTiles<T, N>;
    constexpr int K = Smem::K, PITCH = Smem::PITCH, COLUMNS = N / BLOCKS; // of a block
    Smem &smem = dynamic_smem<Smem>();
    for (int i = threadIdx.x; i < 64 * K; i += WARPGROUP_THREADS)
        smem.a[swizzle_128b<T>(32 + i / K, i % K)] = a[blockIdx.x * 64 * K + i];
    for (int i = threadIdx.x; i < N * K; i += WARPGROUP_THREADS)
        smem.b[swizzle_128b<T>(i / K, i % K)] = b[blockIdx.x * N * K + i];
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote

    float *tile = &d[blockIdx.x * 64 * N];
    float acc[BLOCKS][COLUMNS / 2];
    const auto for_each = [&](auto copy) { // accumulator, with its element
        for (int block = 0; block < BLOCKS; ++block)
            for (int i = 0; i < COLUMNS / 2; ++i)
                copy(acc[block][i], tile[fragment_row(threadIdx.x, i) * N + block * COLUMNS +
                                         fragment_column(threadIdx.x, i)]);
    };
    const auto wait = [&] {
        if constexpr (BLOCKS == 1)
            wgmma_wait<0>(acc[0]);
        else
            wgmma_wait<0>(acc);
    };
    for_each([](float &sum, float &element) { sum = element; });
    wait(); // waits for nothing, and keeps the lines above before the fence
    wgmma_fence();
    for (int kk = 0; kk < K; kk += 32 / int(sizeof(T)))
        for (int block = 0; block < BLOCKS; ++block) {
            const uint64_t a = matrix_descriptor(&smem.a[32 * PITCH + kk]);
            const uint64_t b =
                advance_k<T>(matrix_descriptor(&smem.b[block * COLUMNS * PITCH]), kk);
            if constexpr (std::is_same_v<T, e4m3>)
                wgmma_e4m3<COLUMNS>(acc[block], a, b);
            else
                wgmma<COLUMNS>(acc[block], a, b, accumulate || kk > 0);
        }
    wgmma_commit();
    wait();
    for_each([](float &sum, float &element) { element = sum; });
}
