// a02: mma.sync, operands straight from global memory.
//
// WMMA hides which lane holds which element. mma.sync.m16n8k16 specifies it: each lane holds pairs
// of neighbours at given places. So a warp can load its own fragments, 4 bytes at a time. These
// loads are the bottleneck: each touches eight rows. Any GPU from 8.0 on. Expected: 10 % of cuBLAS.
#include "step.h"
#include "device/fp16.cuh"
#include "device/launch.cuh"
#include "device/tile_schedule.h"

constexpr bool FP16_SUMS = true; // false: the sums are fp32
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 64;
constexpr int WM = 32;
constexpr int WN = 64;
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 16;
constexpr int WARPS_N = BN / WN;
constexpr int WARPS = (BM / WM) * WARPS_N;
constexpr int THREADS = WARPS * WARP_THREADS;

using Sums = TileSums<FP16_SUMS>;

// Loads a warp's fragment of A of a k-slice: rows from `row` on, columns from kk on.
DEVICE void load_a(uint32_t (&fragment)[4], const fp16 *a, int row, int m, int kk, int k) {
    const int lane = threadIdx.x % WARP_THREADS;
    for (int i = 0; i < 4; ++i)
        fragment[i] =
            load_pair_inside(a, row + lane / 4 + i % 2 * 8, m, kk + lane % 4 * 2 + i / 2 * 8, k);
}

// The same for B.
DEVICE void load_b(uint32_t (&fragment)[2], const fp16 *b, int row, int n, int kk, int k) {
    const int lane = threadIdx.x % WARP_THREADS;
    for (int i = 0; i < 2; ++i)
        fragment[i] = load_pair_inside(b, row + lane / 4, n, kk + lane % 4 * 2 + i * 8, k);
}

// Stores a row of the warp's MMA tiles of sums at (row, column) of D.
DEVICE void store_row(const Sums (&acc)[WN / MMA_N], fp16 *d, int row, int column, int m, int n) {
    const int lane = threadIdx.x % WARP_THREADS;
    for (int j = 0; j < WN / MMA_N; ++j)
        for (int pair = 0; pair < 2; ++pair) {
            const int i = lane / 4 + pair * 8;
            const int at = j * MMA_N + lane % 4 * 2;
            if (row + i < m && column + at < n)
                store_pair(&d[size_t(row + i) * n + column + at], packed_pair(acc[j], pair));
        }
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const fp16 *a, const fp16 *b, fp16 *d, int m, int n, int k) {
    const int tiles_m = ceil_div(m, BM);
    const int tiles_n = ceil_div(n, BN);
    const int k_tiles = ceil_div(k, BK);
    const int warp = threadIdx.x / WARP_THREADS;
    const int warp_m = warp / WARPS_N * WM;
    const int warp_n = warp % WARPS_N * WN;

    for (int index = blockIdx.x; index < tiles_m * tiles_n; index += gridDim.x) {
        const tile_coordinate tile = {index / tiles_n, index % tiles_n};
        const int row = tile.m * BM + warp_m;
        const int column = tile.n * BN + warp_n;
        Sums acc[WM / MMA_M][WN / MMA_N] = {};
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
#pragma unroll 1 // on any GPU: nvcc would unroll it for some of them
            for (int kk = 0; kk < BK; kk += MMA_K) {
                uint32_t fragments_a[WM / MMA_M][4];
                uint32_t fragments_b[WN / MMA_N][2];
                for (int j = 0; j < WN / MMA_N; ++j)
                    load_b(fragments_b[j], b, column + j * MMA_N, n, k_tile * BK + kk, k);
                for (int i = 0; i < WM / MMA_M; ++i) {
                    load_a(fragments_a[i], a, row + i * MMA_M, m, k_tile * BK + kk, k);
                    for (int j = 0; j < WN / MMA_N; ++j)
                        mma_m16n8k16(acc[i][j], fragments_a[i], fragments_b[j]);
                }
            }
        }
        for (int i = 0; i < WM / MMA_M; ++i)
            store_row(acc[i], d, row + i * MMA_M, column, m, n);
    }
}

struct State {
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        return balanced_ctas(&ctas, ceil_div(p->m, BM) * ceil_div(p->n, BN));
    }

    int start(const problem *p) const {
        return launch(gemm, dim3(ctas), dim3(THREADS), dim3(1), 0, p->stream,
                      static_cast<const fp16 *>(p->a), static_cast<const fp16 *>(p->b),
                      static_cast<fp16 *>(p->d), p->m, p->n, p->k);
    }
};

static const step a02 = {
    .name = "a02",
    .idea = "mma.sync, operands straight from global memory",
    .computes = GEMM_FP16,
    .fp16_sums = FP16_SUMS,
    .compute_capability = 80,
    .and_later = true,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .tile = {.m = BM, .n = BN, .k = BK},
};

int main(int argc, char **argv) { return run_step<State>(a02, argc, argv); }
