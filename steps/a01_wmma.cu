// a01: WMMA addmm: D = alpha * A * B^T + beta * C.
//
// WMMA is the C++ interface to the tensor cores. A warp loads 16 x 16 fragments from shared memory,
// multiplies them and stores them; which lane holds which element is unspecified. So C is loaded as
// D is stored: through shared memory, into fragments of the accumulators' type, which combine
// element by element. Rows in shared memory are padded by 32 bytes, so that only every fourth row
// of a fragment begins in the same bank. If beta is 0, C is not read; if alpha is 0, A and B are
// not. Any GPU from 8.0 on. Expected: 20 % of cuBLAS: every k-tile waits for its copy.
#include "step.h"
#include "device/fp16.cuh"
#include "device/launch.cuh"
#include "device/shared_memory.cuh"
#include "device/tile_schedule.h"
#include "device/wmma.cuh"

constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 64;
constexpr int WM = 32;
constexpr int WN = 64;
constexpr int MMA = 16; // rows, columns and depth of a fragment
constexpr int WARPS_N = BN / WN;
constexpr int THREADS = (BM / WM) * WARPS_N * WARP_THREADS;
constexpr int SKEW = 32; // bytes; fragments must begin at multiples of it
constexpr int PITCH = BK + SKEW / int(sizeof(fp16));
constexpr int PITCH_D = BN + SKEW / int(sizeof(float));
constexpr int CHUNK_D = 4; // fp32 values
static_assert(BM == BN, "copy_tile serves both operands");

using FragmentA = wmma::fragment<wmma::matrix_a, MMA, MMA, MMA, fp16, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, MMA, MMA, MMA, fp16, wmma::col_major>;
using Sums = wmma::fragment<wmma::accumulator, MMA, MMA, MMA, float>;

// The operands; later, in the same memory, the tile of C, then that of D.
union SharedStorage {
    struct {
        alignas(128) fp16 a[BM * PITCH];
        alignas(128) fp16 b[BN * PITCH];
    };
    alignas(128) float d[BM * PITCH_D];
};

// Copies the tile of A or B at (first_row, column); elements outside the matrix become zeros.
DEVICE void copy_tile(fp16 *tile, const fp16 *matrix, int first_row, int rows, int column, int k) {
    for (int chunk = threadIdx.x; chunk < BM * BK / CHUNK; chunk += THREADS) {
        const int i = chunk / (BK / CHUNK);
        const int j = chunk % (BK / CHUNK) * CHUNK;
        fp16 *to = &tile[i * PITCH + j];
        if (first_row + i < rows && column + j < k)
            copy8(to, &matrix[size_t(first_row + i) * k + column + j]);
        else
            zero8(to);
    }
}

// Copies the tile of C or D at (row, column) to, or from, shared memory: the part of it that is
// inside the matrix.
template <bool STORE>
DEVICE void move_tile(float *tile, std::conditional_t<STORE, float, const float> *matrix, int row,
                      int column, int m, int n) {
    for (int chunk = threadIdx.x; chunk < BM * BN / CHUNK_D; chunk += THREADS) {
        const int i = chunk / (BN / CHUNK_D);
        const int j = chunk % (BN / CHUNK_D) * CHUNK_D;
        if (row + i >= m || column + j >= n)
            continue;
        auto *outside = reinterpret_cast<std::conditional_t<STORE, float4, const float4> *>(
            &matrix[size_t(row + i) * n + column + j]);
        float4 *inside = reinterpret_cast<float4 *>(&tile[i * PITCH_D + j]);
        if constexpr (STORE)
            *outside = *inside;
        else
            *inside = *outside;
    }
}

// sums = alpha * sums + beta * c, element by element: fragments of one type have one layout.
DEVICE void combine(Sums &sums, const Sums &c, float alpha, float beta) {
    for (int i = 0; i < sums.num_elements; ++i)
        sums.x[i] = alpha * sums.x[i] + beta * c.x[i];
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const fp16 *a, const fp16 *b, const float *c, float *d, float alpha, float beta, int m,
         int n, int k) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
    const int tiles_n = ceil_div(n, BN);
    const int warp = threadIdx.x / WARP_THREADS;
    const int warp_m = warp / WARPS_N * WM;
    const int warp_n = warp % WARPS_N * WN;
    float *warp_d = &smem.d[warp_m * PITCH_D + warp_n];

    for (int tile = blockIdx.x; tile < ceil_div(m, BM) * tiles_n; tile += gridDim.x) {
        const int row = tile / tiles_n * BM;
        const int column = tile % tiles_n * BN;

        Sums acc[WM / MMA][WN / MMA];
        for (int i = 0; i < WM / MMA; ++i)
            for (int j = 0; j < WN / MMA; ++j)
                wmma::fill_fragment(acc[i][j], 0.0f);
        for (int k_tile = 0; k_tile < k && alpha != 0; k_tile += BK) {
            copy_tile(smem.a, a, row, m, k_tile, k);
            copy_tile(smem.b, b, column, n, k_tile, k);
            __syncthreads(); // the tiles are complete
            for (int kk = 0; kk < BK; kk += MMA) {
                FragmentB fragments_b[WN / MMA];
                for (int j = 0; j < WN / MMA; ++j)
                    wmma::load_matrix_sync(fragments_b[j], &smem.b[(warp_n + j * MMA) * PITCH + kk],
                                           PITCH);
                for (int i = 0; i < WM / MMA; ++i) {
                    FragmentA fragment_a;
                    wmma::load_matrix_sync(fragment_a, &smem.a[(warp_m + i * MMA) * PITCH + kk],
                                           PITCH);
                    for (int j = 0; j < WN / MMA; ++j)
                        wmma::mma_sync(acc[i][j], fragment_a, fragments_b[j], acc[i][j]);
                }
            }
            __syncthreads(); // all have read the tiles before anything overwrites them
        }

        if (beta != 0) {
            move_tile<false>(smem.d, c, row, column, m, n);
            __syncthreads(); // the tile of C is complete
        }
        for (int i = 0; i < WM / MMA; ++i)
            for (int j = 0; j < WN / MMA; ++j) {
                float *block = &warp_d[(i * PITCH_D + j) * MMA]; // C's, then D's in its place
                Sums block_c;
                wmma::fill_fragment(block_c, 0.0f);
                if (beta != 0)
                    wmma::load_matrix_sync(block_c, block, PITCH_D, wmma::mem_row_major);
                combine(acc[i][j], block_c, alpha, beta);
                wmma::store_matrix_sync(block, acc[i][j], PITCH_D, wmma::mem_row_major);
            }
        __syncthreads(); // the tile of D is complete
        move_tile<true>(smem.d, d, row, column, m, n);
        __syncthreads(); // all have read D before the next tile's A and B overwrite it
    }
}

struct State {
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        return allow_dynamic_smem(gemm, sizeof(SharedStorage)) ||
               balanced_ctas(&ctas, ceil_div(p->m, BM) * ceil_div(p->n, BN));
    }

    int start(const problem *p) const {
        return launch(gemm, dim3(ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage), p->stream,
                      static_cast<const fp16 *>(p->a), static_cast<const fp16 *>(p->b),
                      static_cast<const float *>(p->c), static_cast<float *>(p->d), p->alpha,
                      p->beta, p->m, p->n, p->k);
    }
};

static const step a01 = {
    .name = "a01",
    .idea = "WMMA addmm: D = alpha * A * B^T + beta * C",
    .computes = ADDMM_FP16,
    .compute_capability = 80,
    .and_later = true,
    .multiple = {.m = 1, .n = 4, .k = 8},
    .tile = {.m = BM, .n = BN, .k = BK},
};

int main(int argc, char **argv) { return run_step<State>(a01, argc, argv); }
