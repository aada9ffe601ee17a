// wgmma, stmatrix and the epilogue's exchanges, against their definitions.
#pragma once

#include "device/fragment.cuh"
#include "device/named_barrier.cuh"
#include "device/stmatrix.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- wgmma

constexpr int K = 64;

// Where accumulator i, 0 to N / 2 - 1, of thread 0 to 127 is in D [64][N], as the PTX manual draws
// it.
DEVICE int fragment_row(int thread, int i) {
    return 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
}
DEVICE int fragment_column(int thread, int i) { return 8 * (i / 4) + 2 * (thread % 4) + i % 2; }

template <int N>
struct Operands {
    alignas(1024) bf16 a[(32 + 64) * K]; // 32 rows that are not meant, and A
    alignas(1024) bf16 b[N * K];
};

// Of one block or of several.
template <int COUNT>
DEVICE void wait_for_blocks(float (&acc)[1][COUNT]) {
    wgmma_wait<0>(acc[0]);
}
template <int BLOCKS, int COUNT>
DEVICE void wait_for_blocks(float (&acc)[BLOCKS][COUNT]) {
    wgmma_wait<0>(acc);
}

// D [64][N] = A [64][64] * B [N][64]^T, plus `before` in every element if `accumulate`; in blocks
// of columns, each with wgmmas of its own.
template <int N, int BLOCKS>
__global__ void multiply(const bf16 *a, const bf16 *b, float before, bool accumulate, float *d) {
    Operands<N> &smem = dynamic_smem<Operands<N>>();
    for (int i = threadIdx.x; i < 64 * K; i += WARPGROUP_THREADS)
        smem.a[swizzle_128b(32 + i / K, i % K)] = a[i];
    for (int i = threadIdx.x; i < N * K; i += WARPGROUP_THREADS)
        smem.b[swizzle_128b(i / K, i % K)] = b[i];
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote

    constexpr int COLUMNS = N / BLOCKS; // of a block
    float acc[BLOCKS][COLUMNS / 2];
    for (int i = 0; i < N / 2; ++i)
        acc[i / (COLUMNS / 2)][i % (COLUMNS / 2)] = before;
    wait_for_blocks(acc); // waits for nothing, and keeps the lines above before the fence
    wgmma_fence();
    for (int kk = 0; kk < K; kk += 16)
        for (int block = 0; block < BLOCKS; ++block) {
            const uint64_t b = matrix_descriptor(&smem.b[block * COLUMNS * K]);
            wgmma<COLUMNS>(acc[block], matrix_descriptor(&smem.a[32 * K + kk]), advance_k(b, kk),
                           accumulate || kk > 0);
        }
    wgmma_commit();
    wait_for_blocks(acc);
    for (int block = 0; block < BLOCKS; ++block)
        for (int i = 0; i < COLUMNS / 2; ++i)
            d[fragment_row(threadIdx.x, i) * N + block * COLUMNS +
              fragment_column(threadIdx.x, i)] = acc[block][i];
}

template <int N, int BLOCKS>
static void expect_product(const std::vector<float> &a, const std::vector<float> &b, float before,
                           bool accumulate, const char *what) {
    std::vector<float> expected(64 * N, accumulate ? before : 0.0f);
    for (int i = 0; i < 64 * N; ++i)
        for (int k = 0; k < K; ++k)
            expected[i] += a[i / N * K + k] * b[i % N * K + k];
    const DeviceArray<uint16_t> on_a(rounded(a, bf16_bits)), on_b(rounded(b, bf16_bits));
    expect_output(expected, NAN, N, what, multiply<N, BLOCKS>,
                  {1, WARPGROUP_THREADS, 1, sizeof(Operands<N>)}, on_a.device, on_b.device, before,
                  accumulate);
}

template <int N, int BLOCKS = 1>
static void multiply_case() {
    std::vector<float> identity(64 * K), integers_a(64 * K), b(N * K);
    for (int i = 0; i < 64 * K; ++i) {
        identity[i] = i / K == i % K;
        integers_a[i] = float(i * 37 % 101 % 9 - 4);
    }
    for (int i = 0; i < N * K; ++i)
        b[i] = float(i % 257 - 128); // 257 is prime: rows and columns differ
    // A NaN that were not overwritten would be seen.
    expect_product<N, BLOCKS>(identity, b, NAN, false, "one-hot A");
    expect_product<N, BLOCKS>(integers_a, b, NAN, false, "integers");
    expect_product<N, BLOCKS>(integers_a, b, 1000, true, "integers on top of 1000");
}

template <int... EIGHTS>
static void multiply_widths(std::integer_sequence<int, EIGHTS...>) {
    (expect_product<8 * (EIGHTS + 1), 1>(
         small_integers(64, K, 5), small_integers(8 * (EIGHTS + 1), K, 7), NAN, false, "integers"),
     ...);
}
static void multiply_all_widths() { multiply_widths(std::make_integer_sequence<int, 32>()); }

// ---------------------------------------------------------------------------- fragments

struct StoredMatrices {
    alignas(16) bf16 tile[32 * 24];
};

// Matrix i of COUNT goes to rows 8 i to 8 i + 7 of out [32][24]: columns 0, 8, 16, 8 on. With two
// matrices the lanes from 16 on name rows as well, and nothing may come there.
template <int COUNT, bool TRANSPOSED>
__global__ void write_matrices(bf16 *out) {
    StoredMatrices &smem = dynamic_smem<StoredMatrices>();
    const int lane = threadIdx.x;
    for (int i = lane; i < 32 * 24; i += 32)
        reinterpret_cast<uint16_t *>(smem.tile)[i] = UNWRITTEN;
    float values[8];
    for (int i = 0; i < 8; ++i)
        values[i] = float(i / 2 * 64 + lane / 4 * 8 + lane % 4 * 2 + i % 2);
    __syncwarp();
    bf16 *row = &smem.tile[lane * 24 + (lane < 24 ? lane / 8 : 1) * 8];
    if (TRANSPOSED && COUNT == 4)
        stmatrix_x4_transposed(row, values);
    else if (TRANSPOSED)
        stmatrix_x2_transposed(row, values);
    else if (COUNT == 4)
        stmatrix_x4(row, values);
    else
        stmatrix_x2(row, values);
    __syncwarp();
    for (int i = lane; i < 32 * 24; i += 32)
        out[i] = smem.tile[i];
}

template <int COUNT, bool TRANSPOSED = false>
static void stmatrix() {
    std::vector<uint16_t> expected(32 * 24, UNWRITTEN);
    for (int i = 0; i < COUNT * 64; ++i) {
        const int first = (i < 192 ? i / 64 : 1) * 8;
        const int row = TRANSPOSED ? i / 64 * 8 + i % 8 : i / 8;
        expected[row * 24 + first + (TRANSPOSED ? i / 8 % 8 : i % 8)] = bf16_bits(float(i));
    }
    expect_output<uint16_t>(expected, 0, 24, "tile", write_matrices<COUNT, TRANSPOSED>,
                            {1, 32, 1, sizeof(StoredMatrices)});
}

// One warp writes its 8 rows of 16 columns to out [8][32], columns 16 on.
__global__ void write_rows(bf16 *out) {
    const int row = threadIdx.x / 4;
    const float left = float(row * 16 + threadIdx.x % 4 * 2);
    store_fragment_row(&out[row * 32 + 16], left, left + 1, left + 8, left + 9);
}

static void fragment_rows() {
    std::vector<uint16_t> expected(8 * 32, UNWRITTEN);
    for (int i = 0; i < 8 * 16; ++i)
        expected[i / 16 * 32 + 16 + i % 16] = bf16_bits(float(i));
    expect_output(expected, UNWRITTEN, 32, "rows", write_rows, {1, 32});
}
