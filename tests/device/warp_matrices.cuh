// What a warp does with small matrices: ldmatrix, mma.sync and WMMA, against their definitions.
#pragma once

#include "device/ldmatrix.cuh"
#include "device/mma_sync.cuh"
#include "device/wmma.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- ldmatrix

constexpr int ROW = 24; // elements from one row of a tile to the next: 8, and what is not meant

using Rows = Shared<uint16_t, WARP_THREADS * ROW>;

// Which row of the tile lane `lane` names: any permutation will do.
__host__ __device__ constexpr int row_of_lane(int lane) { return lane * 5 % WARP_THREADS; }

// out [32][COUNT]: the registers of each lane.
template <int COUNT, bool TRANSPOSED>
__global__ void read_matrices(uint32_t *out) {
    uint16_t *tile = dynamic_smem<Rows>().at;
    const int lane = threadIdx.x;
    for (int i = lane; i < WARP_THREADS * ROW; i += WARP_THREADS)
        tile[i] = uint16_t(i + 1);
    __syncwarp();
    uint32_t registers[COUNT];
    const uint16_t *row = &tile[row_of_lane(lane) * ROW + 8];
    if constexpr (COUNT == 1)
        ldmatrix_x1(registers, row);
    else if constexpr (COUNT == 2)
        ldmatrix_x2(registers, row);
    else if constexpr (TRANSPOSED)
        ldmatrix_x4_trans(registers, row);
    else
        ldmatrix_x4(registers, row);
    for (int i = 0; i < COUNT; ++i)
        out[lane * COUNT + i] = registers[i];
}

template <int COUNT, bool TRANSPOSED = false>
static void ldmatrix() {
    const auto expected = each<uint32_t>(WARP_THREADS * COUNT, [](int i) {
        const int row = i / COUNT / 4, column = i / COUNT % 4 * 2; // in matrix i % COUNT
        const auto element = [&](int half) {
            const int m = TRANSPOSED ? column + half : row, n = TRANSPOSED ? row : column + half;
            return row_of_lane(i % COUNT * 8 + m) * ROW + 8 + n + 1;
        };
        return element(0) | element(1) << 16;
    });
    expect_output(std::to_string(COUNT) + " matrices", expected, read_matrices<COUNT, TRANSPOSED>,
                  {1, WARP_THREADS, 1, sizeof(Rows)});
}

// ---------------------------------------------------------------------------- mma.sync

constexpr int M = 16, N = 8, DEPTH = 16;

// D [16][8] += A [16][16] * B, b [8][16] being B column by column; sums as fp32, or as the bits of
// fp16.
template <typename Sum>
__global__ void multiply_warp(const uint16_t *a, const uint16_t *b, Sum *d) {
    // Two neighbouring elements, as a register holds them.
    const auto pair_at = [](const uint16_t *matrix, int first) {
        return *reinterpret_cast<const uint32_t *>(&matrix[first]);
    };
    const int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
    uint32_t a_part[4], b_part[2];
    for (int i = 0; i < 4; ++i)
        a_part[i] = pair_at(a, (row + i % 2 * 8) * DEPTH + column + i / 2 * 8);
    for (int i = 0; i < 2; ++i)
        b_part[i] = pair_at(b, row * DEPTH + column + i * 8);
    Sum acc[4];
    for (int i = 0; i < 4; ++i)
        acc[i] = d[(row + i / 2 * 8) * N + column + i % 2];
    if constexpr (std::is_same_v<Sum, float>) {
        mma_m16n8k16_f16_f32(acc, a_part, b_part);
    } else {
        uint32_t pairs[2];
        memcpy(pairs, acc, sizeof pairs);
        mma_m16n8k16_f16_f16(pairs, a_part, b_part);
        memcpy(acc, pairs, sizeof pairs);
    }
    for (int i = 0; i < 4; ++i)
        d[(row + i / 2 * 8) * N + column + i % 2] = acc[i];
}

template <typename Sum>
static void warp_product(Sum (*round)(float)) {
    const auto a = small_integers(M * DEPTH, 5), b = small_integers(N * DEPTH, 7);
    const auto c = small_integers(M * N, 3);
    const DeviceArray<Sum> d(rounded(c, round));
    run(multiply_warp<Sum>, {1, WARP_THREADS}, DeviceArray(rounded(a, fp16_from_float)),
        DeviceArray(rounded(b, fp16_from_float)), d);
    d.expect("sums", rounded(product(a, b, c, N), round));
}

// ---------------------------------------------------------------------------- WMMA

constexpr int SIDE = 16;
constexpr int STRIDE = SIDE + 8; // elements between rows

// D = 2 * A * B + C, all [16][16] with rows STRIDE apart; A and B from shared memory, C and D in
// global memory, C column by column.
template <typename LayoutA, typename LayoutB, typename Sum>
__global__ void multiply_wmma(const half *a, const half *b, const Sum *c, Sum *d) {
    half *shared_a = dynamic_smem<Shared<half, 2 * SIDE * STRIDE>>().at;
    half *shared_b = shared_a + SIDE * STRIDE;
    for (int i = threadIdx.x; i < SIDE * STRIDE; i += WARP_THREADS) {
        shared_a[i] = a[i];
        shared_b[i] = b[i];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, LayoutA> a_part;
    wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, LayoutB> b_part;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, Sum> product, sum;
    wmma::load_matrix_sync(a_part, shared_a, STRIDE);
    wmma::load_matrix_sync(b_part, shared_b, STRIDE);
    wmma::load_matrix_sync(sum, c, STRIDE, wmma::mem_col_major);
    wmma::fill_fragment(product, Sum(0.0f));
    wmma::mma_sync(product, a_part, b_part, product);
    wmma::mma_sync(product, a_part, b_part, product);
    for (int i = 0; i < product.num_elements; ++i)
        sum.x[i] = Sum(float(product.x[i]) + float(sum.x[i]));
    wmma::store_matrix_sync(d, sum, STRIDE, wmma::mem_row_major);
}

// The matrix with rows STRIDE apart, or columns if it is to lie column by column; -1 between them.
template <typename Bits>
static std::vector<Bits> laid_out(const std::vector<float> &matrix, bool rows,
                                  Bits (*round)(float)) {
    return each<Bits>(SIDE * STRIDE, [&](int i) {
        const int at = rows ? i / STRIDE * SIDE + i % STRIDE : i % STRIDE * SIDE + i / STRIDE;
        return round(i % STRIDE < SIDE ? matrix[at] : -1.0f);
    });
}

template <typename LayoutA, typename LayoutB, typename Sum, typename Bits>
static void wmma_product(Bits (*round)(float)) {
    const bool a_rows = std::is_same_v<LayoutA, wmma::row_major>;
    const bool b_columns = std::is_same_v<LayoutB, wmma::col_major>;
    const auto a = small_integers(SIDE * SIDE, 5), c = small_integers(SIDE * SIDE, 3);
    const auto b = each<float>(SIDE * SIDE, [](int i) { // column by column
        return small_integer(i % SIDE * SIDE + i / SIDE, 7);
    });
    const DeviceArray<Bits> d(SIDE * STRIDE, round(-1.0f));
    run(multiply_wmma<LayoutA, LayoutB, Sum>, {1, WARP_THREADS, 1, 2 * 1024},
        DeviceArray(laid_out(a, a_rows, fp16_from_float)),
        DeviceArray(laid_out(b, b_columns, fp16_from_float)),
        DeviceArray(laid_out(c, false, round)), d);
    d.expect("D", laid_out(product(a, b, product(a, b, c, SIDE), SIDE), true, round));
}

static float same(float value) { return value; }

static const std::vector<Case> WARP_CASES = {
    {"ldmatrix: one, two and four matrices", [] { ldmatrix<1>(), ldmatrix<2>(), ldmatrix<4>(); }},
    {"ldmatrix.trans: four matrices", ldmatrix<4, true>},
    {"mma.sync: fp16, fp32 sums", [] { warp_product(same); }},
    {"mma.sync: fp16, fp16 sums", [] { warp_product(fp16_from_float); }},
    {"WMMA: all layouts, fp32 sums",
     [] {
         wmma_product<wmma::row_major, wmma::row_major, float>(same);
         wmma_product<wmma::row_major, wmma::col_major, float>(same);
         wmma_product<wmma::col_major, wmma::row_major, float>(same);
         wmma_product<wmma::col_major, wmma::col_major, float>(same);
     }},
    {"WMMA: fp16 sums",
     [] { wmma_product<wmma::row_major, wmma::col_major, half>(fp16_from_float); }},
};
