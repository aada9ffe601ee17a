// What a warp does with small matrices: ldmatrix, mma.sync and WMMA, against their definitions.
#pragma once

#include "device/ldmatrix.cuh"
#include "device/mma_sync.cuh"
#include "device/wmma.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- ldmatrix

constexpr int ROW = 24; // elements from one row of a tile to the next: 8, and what is not meant

struct MatrixStorage {
    alignas(16) uint16_t tile[WARP_THREADS * ROW];
};

template <int COUNT, bool TRANSPOSED>
__device__ void load_matrices(uint32_t (&registers)[COUNT], const void *row) {
    if constexpr (COUNT == 1)
        ldmatrix_x1(registers, row);
    else if constexpr (COUNT == 2)
        ldmatrix_x2(registers, row);
    else if constexpr (TRANSPOSED)
        ldmatrix_x4_trans(registers, row);
    else
        ldmatrix_x4(registers, row);
}

// Which row of the tile lane `lane` names: any permutation will do.
__host__ __device__ constexpr int row_of_lane(int lane) { return lane * 5 % WARP_THREADS; }

// out [32][COUNT]: the registers of each lane.
template <int COUNT, bool TRANSPOSED>
__global__ void read_matrices(uint32_t *out) {
    MatrixStorage &smem = dynamic_smem<MatrixStorage>();
    const int lane = threadIdx.x;
    for (int i = lane; i < WARP_THREADS * ROW; i += WARP_THREADS)
        smem.tile[i] = uint16_t(i + 1);
    __syncwarp();
    uint32_t registers[COUNT];
    load_matrices<COUNT, TRANSPOSED>(registers, &smem.tile[row_of_lane(lane) * ROW + 8]);
    for (int i = 0; i < COUNT; ++i)
        out[lane * COUNT + i] = registers[i];
}

template <int COUNT, bool TRANSPOSED>
static void expect_matrices() {
    std::vector<uint32_t> expected(WARP_THREADS * COUNT);
    for (int lane = 0; lane < WARP_THREADS; ++lane)
        for (int i = 0; i < COUNT; ++i)
            for (int half = 0; half < 2; ++half) {
                int row = lane / 4, column = lane % 4 * 2 + half;
                if (TRANSPOSED)
                    std::swap(row, column);
                const int element = row_of_lane(i * 8 + row) * ROW + 8 + column + 1;
                expected[lane * COUNT + i] |= uint32_t(element) << (16 * half);
            }
    const std::string form = TRANSPOSED ? "x4.trans" : "x" + std::to_string(COUNT);
    expect_output(expected, 0xffffffffu, COUNT, form, read_matrices<COUNT, TRANSPOSED>,
                  {1, WARP_THREADS, 1, sizeof(MatrixStorage)});
}

static void matrices_loaded() {
    expect_matrices<1, false>();
    expect_matrices<2, false>();
    expect_matrices<4, false>();
}

static void matrices_loaded_transposed() { expect_matrices<4, true>(); }

// ---------------------------------------------------------------------------- mma.sync

constexpr int M = 16, N = 8, DEPTH = 16;
enum MmaKind { F16_F32, F16_F16 };

// Two neighbouring elements, as a register holds them.
__device__ inline uint32_t pair_at(const uint16_t *elements, int first) {
    return *reinterpret_cast<const uint32_t *>(&elements[first]);
}

// D [16][8] += A [16][16] * B, b [8][16] being B column by column; fp32 sums in d, fp16 ones in
// d_half.
template <MmaKind KIND>
__global__ void multiply_warp(const uint16_t *a, const uint16_t *b, float *d, uint16_t *d_half) {
    const int row = threadIdx.x / 4;
    const int column = threadIdx.x % 4 * 2;
    uint32_t a_part[4], b_part[2];
    for (int i = 0; i < 4; ++i)
        a_part[i] = pair_at(a, (row + i % 2 * 8) * DEPTH + column + i / 2 * 8);
    for (int i = 0; i < 2; ++i)
        b_part[i] = pair_at(b, row * DEPTH + column + i * 8);
    if constexpr (KIND == F16_F16) {
        uint32_t acc[2] = {pair_at(d_half, row * N + column),
                           pair_at(d_half, (row + 8) * N + column)};
        mma_m16n8k16_f16_f16(acc, a_part, b_part);
        for (int i = 0; i < 2; ++i)
            *reinterpret_cast<uint32_t *>(&d_half[(row + i * 8) * N + column]) = acc[i];
    } else {
        float acc[4];
        for (int i = 0; i < 4; ++i)
            acc[i] = d[(row + i / 2 * 8) * N + column + i % 2];
        mma_m16n8k16_f16_f32(acc, a_part, b_part);
        for (int i = 0; i < 4; ++i)
            d[(row + i / 2 * 8) * N + column + i % 2] = acc[i];
    }
}

template <MmaKind KIND>
static void warp_product() {
    const std::vector<float> a = small_integers(M, DEPTH, 5), b = small_integers(N, DEPTH, 7);
    std::vector<float> expected = small_integers(M, N, 3);
    const DeviceArray<uint16_t> on_a(rounded(a, half_bits)), on_b(rounded(b, half_bits));
    const DeviceArray<uint16_t> d_half(rounded(expected, half_bits));
    const DeviceArray<float> d(expected);
    for (int i = 0; i < M * N; ++i)
        for (int k = 0; k < DEPTH; ++k)
            expected[i] += a[i / N * DEPTH + k] * b[i % N * DEPTH + k];
    run(multiply_warp<KIND>, {1, WARP_THREADS}, on_a.device, on_b.device, d.device, d_half.device);
    if (KIND == F16_F16)
        expect_equal(d_half.read(), rounded(expected, half_bits), N, "fp16 sums");
    else
        expect_equal(d.read(), expected, N, "fp32 sums");
}

// ---------------------------------------------------------------------------- WMMA

constexpr int SIDE = 16;
constexpr int STRIDE = SIDE + 8; // elements between rows

// D = 2 * A * B + C, all [16][16] with rows STRIDE apart; A and B from shared memory, C and D in
// global memory, C column by column.
template <typename LayoutA, typename LayoutB, typename Sum>
__global__ void multiply_wmma(const half *a, const half *b, const Sum *c, Sum *d) {
    struct Storage {
        alignas(32) half a[SIDE * STRIDE];
        alignas(32) half b[SIDE * STRIDE];
    };
    Storage &smem = dynamic_smem<Storage>();
    for (int i = threadIdx.x; i < SIDE * STRIDE; i += WARP_THREADS) {
        smem.a[i] = a[i];
        smem.b[i] = b[i];
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, half, LayoutA> a_part;
    wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, half, LayoutB> b_part;
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, Sum> product, sum;
    wmma::load_matrix_sync(a_part, smem.a, STRIDE);
    wmma::load_matrix_sync(b_part, smem.b, STRIDE);
    wmma::load_matrix_sync(sum, c, STRIDE, wmma::mem_col_major);
    wmma::fill_fragment(product, Sum(0.0f));
    wmma::mma_sync(product, a_part, b_part, product);
    wmma::mma_sync(product, a_part, b_part, product);
    for (int i = 0; i < product.num_elements; ++i)
        sum.x[i] = Sum(float(product.x[i]) + float(sum.x[i]));
    wmma::store_matrix_sync(d, sum, STRIDE, wmma::mem_row_major);
}

// The matrix with rows STRIDE apart, or columns if it is to lie column by column.
static std::vector<float> laid_out(const std::vector<float> &matrix, bool rows) {
    std::vector<float> spread(SIDE * STRIDE, -1.0f);
    for (int i = 0; i < SIDE * SIDE; ++i)
        spread[rows ? i / SIDE * STRIDE + i % SIDE : i % SIDE * STRIDE + i / SIDE] = matrix[i];
    return spread;
}

template <typename LayoutA, typename LayoutB, typename Sum, typename Bits, typename Round>
static void expect_wmma(const char *what, Round round) {
    const std::vector<float> a = small_integers(SIDE, SIDE, 5), b = small_integers(SIDE, SIDE, 7),
                             c = small_integers(SIDE, SIDE, 3);
    std::vector<float> expected(c);
    for (int i = 0; i < SIDE * SIDE; ++i)
        for (int k = 0; k < SIDE; ++k)
            expected[i] += 2 * a[i / SIDE * SIDE + k] * b[k * SIDE + i % SIDE];
    const bool a_rows = std::is_same_v<LayoutA, wmma::row_major>;
    const bool b_rows = std::is_same_v<LayoutB, wmma::row_major>;
    std::vector<Bits> c_bits, expected_bits;
    for (float value : laid_out(c, false))
        c_bits.push_back(round(value));
    for (float value : laid_out(expected, true))
        expected_bits.push_back(round(value));
    const DeviceArray<uint16_t> on_a(rounded(laid_out(a, a_rows), half_bits));
    const DeviceArray<uint16_t> on_b(rounded(laid_out(b, b_rows), half_bits));
    const DeviceArray<Bits> on_c(c_bits);
    expect_output(expected_bits, Bits(round(-1.0f)), STRIDE, what,
                  multiply_wmma<LayoutA, LayoutB, Sum>, {1, WARP_THREADS, 1, 2 * 1024}, on_a.device,
                  on_b.device, on_c.device);
}

static void wmma_layouts() {
    const auto same = [](float value) { return value; };
    expect_wmma<wmma::row_major, wmma::row_major, float, float>("rows, rows", same);
    expect_wmma<wmma::row_major, wmma::col_major, float, float>("rows, columns", same);
    expect_wmma<wmma::col_major, wmma::row_major, float, float>("columns, rows", same);
    expect_wmma<wmma::col_major, wmma::col_major, float, float>("columns, columns", same);
}

static void wmma_half_sums() {
    expect_wmma<wmma::row_major, wmma::col_major, half, uint16_t>("fp16 sums", half_bits);
}
