// wgmma, stmatrix and the epilogue's exchanges, against their definitions.
#pragma once

#include "device/fragment.cuh"
#include "device/stmatrix.cuh"
#include "product.cuh"

template <int N, int BLOCKS = 1>
static void expect_product(const std::vector<float> &a, const std::vector<float> &b, float before,
                           const char *what) {
    const bool accumulate = before == before; // a NaN that were not overwritten would be seen
    const DeviceArray<float> d(64 * N, before);
    run(multiply<bf16, N, BLOCKS>, {1, WARPGROUP_THREADS, 1, sizeof(OperandTiles<bf16, N>)},
        DeviceArray(rounded(a, bf16_from_float)), DeviceArray(rounded(b, bf16_from_float)),
        accumulate, d);
    d.expect(what, product(a, b, std::vector<float>(64 * N, accumulate ? before : 0.0f), N));
}

template <int N, int BLOCKS = 1>
static void products() {
    constexpr int K = 64;
    const auto identity = each<float>(64 * K, [](int i) { return i / K == i % K; });
    const auto integers = each<float>(64 * K, [](int i) { return i * 37 % 101 % 9 - 4; });
    // 257 is prime: rows and columns differ
    const auto b = each<float>(N * K, [](int i) { return i % 257 - 128; });
    expect_product<N, BLOCKS>(identity, b, NAN, "one-hot A");
    expect_product<N, BLOCKS>(integers, b, NAN, "integers");
    expect_product<N, BLOCKS>(integers, b, 1000, "integers on top of 1000");
}

template <int... EIGHTHS>
static void all_widths(std::integer_sequence<int, EIGHTHS...>) {
    (expect_product<8 * EIGHTHS + 8>(small_integers(64 * 64, 5),
                                     small_integers((8 * EIGHTHS + 8) * 64, 7), NAN, "integers"),
     ...);
}

// ---------------------------------------------------------------------------- fragments

using StoredMatrices = Shared<bf16, 32 * 24>;

// Matrix i of COUNT goes to rows 8 i to 8 i + 7 of out [32][24]: columns 0, 8, 16, 8 on. With two
// matrices the lanes from 16 on name rows as well, and nothing may come there.
template <int COUNT, bool TRANSPOSED>
__global__ void write_matrices(bf16 *out) {
    bf16 *tile = dynamic_smem<StoredMatrices>().at;
    const int lane = threadIdx.x;
    for (int i = lane; i < 32 * 24; i += 32)
        reinterpret_cast<uint16_t *>(tile)[i] = UNWRITTEN;
    float values[8];
    for (int i = 0; i < 8; ++i)
        values[i] = float(i / 2 * 64 + lane / 4 * 8 + lane % 4 * 2 + i % 2);
    __syncwarp();
    bf16 *row = &tile[lane * 24 + (lane < 24 ? lane / 8 : 1) * 8];
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
        out[i] = tile[i];
}

template <int COUNT, bool TRANSPOSED>
static void stmatrix() {
    std::vector<uint16_t> expected(32 * 24, UNWRITTEN);
    for (int i = 0; i < COUNT * 64; ++i) {
        const int first = (i < 192 ? i / 64 : 1) * 8;
        const int row = TRANSPOSED ? i / 64 * 8 + i % 8 : i / 8;
        expected[row * 24 + first + (TRANSPOSED ? i / 8 % 8 : i % 8)] = bf16_from_float(float(i));
    }
    expect_output("tile", expected, write_matrices<COUNT, TRANSPOSED>,
                  {1, 32, 1, sizeof(StoredMatrices)});
}

// One warp writes its 8 rows of 16 columns to out [8][32], columns 16 on.
__global__ void write_rows(bf16 *out) {
    const int row = threadIdx.x / 4;
    const float left = float(row * 16 + threadIdx.x % 4 * 2);
    store_fragment_row(&out[row * 32 + 16], left, left + 1, left + 8, left + 9);
}

static void fragment_rows() {
    const auto expected = each<uint16_t>(8 * 32, [](int i) {
        return i % 32 < 16 ? UNWRITTEN : bf16_from_float(float(i / 32 * 16 + i % 16));
    });
    expect_output("rows", expected, write_rows, {1, 32});
}

static const std::vector<Case> WARPGROUP_CASES = {
    {"wgmma<64>: exact, documented fragment", products<64>},
    {"wgmma<128>: exact, documented fragment", products<128>},
    {"wgmma<200>: exact, documented fragment", products<200>},
    {"wgmma<256>: exact, documented fragment", products<256>},
    {"wgmma_wait: two blocks of accumulators", products<128, 2>},
    {"wgmma<8> to wgmma<256>: exact", [] { all_widths(std::make_integer_sequence<int, 32>()); }},
    {"stmatrix_x4: rows where the lanes say", stmatrix<4, false>},
    {"stmatrix_x2: the first 16 lanes say where", stmatrix<2, false>},
    {"stmatrix_x4_transposed: columns where the lanes say", stmatrix<4, true>},
    {"stmatrix_x2_transposed: the first 16 lanes say where", stmatrix<2, true>},
    {"store_fragment_row: 16 columns of a row", fragment_rows},
};
