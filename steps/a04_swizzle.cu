// a04: the XOR swizzle.
//
// Rows of 128 bytes all begin in the same bank. So the eight 16-byte rows of an 8 x 8 matrix
// come from the same four banks, an 8-way conflict, and the writes of a strip of D conflict
// alike. XOR of a 16-byte chunk's column with its row (modulo 8) spreads the rows over all
// 32 banks. Unlike padding, it costs no memory. Any GPU from 8.0 on. Expected: +33 % over
// a03.
#include "step.h"
#include "device/fp16.cuh"
#include "device/launch.cuh"
#include "device/ldmatrix.cuh"
#include "device/swizzle.cuh"
#include "device/tile_chunks.cuh"
#include "device/tile_schedule.h"

constexpr bool FP16_SUMS = true; // false: the sums are fp32
constexpr int BM = 256;
constexpr int BN = 128;
constexpr int BK = 64;
constexpr int WM = 64;
constexpr int WN = 64;
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 16;
constexpr int GROUP = 8; // rows of tiles in a group of the schedule
constexpr int WARPS_N = BN / WN;
constexpr int WARPS = (BM / WM) * WARPS_N;
constexpr int THREADS = WARPS * WARP_THREADS;
static_assert(BK == SWIZZLE_COLUMNS && WN == BK, "a row of a tile is one row of the swizzle");

using Sums = TileSums<FP16_SUMS>;

struct SharedStorage {
    alignas(1024) fp16 a[BM * BK];
    alignas(1024) fp16 b[BN * BK];
    alignas(1024) fp16 d[WARPS][MMA_M * WN]; // staging: a strip of MMA_M rows per warp
};

// The index of (row, column) in a tile.
DEVICE int place(int row, int column) { return swizzle_128b(row, column); }

// Copies the next k-tile: zeros if its columns are outside the matrix.
template <typename Chunks>
DEVICE void copy_tile(fp16 *shared, Chunks &chunks, bool inside) {
    for (int i = 0; i < chunks.COUNT; ++i) {
        fp16 *to = &shared[i * chunks.STEP * BK + place(chunks.row(), chunks.column())];
        inside ? copy8(to, chunks.from(i)) : zero8(to);
    }
    chunks.advance();
}

// Loads a warp's fragment of A of a k-slice: rows from `row` on, columns from kk on.
DEVICE void load_a(uint32_t (&fragment)[4], const fp16 *tile, int row, int kk) {
    const int lane = threadIdx.x % WARP_THREADS;
    ldmatrix_x4(fragment, &tile[place(row + lane % 16, kk + lane / 16 * 8)]);
}

// The same for B.
DEVICE void load_b(uint32_t (*fragments)[2], const fp16 *tile, int row, int kk) {
    const int lane = threadIdx.x % WARP_THREADS;
    uint32_t both[4];
    ldmatrix_x4(both, &tile[place(row + lane / 16 * 8 + lane % 8, kk + lane / 8 % 2 * 8)]);
    fragments[0][0] = both[0], fragments[0][1] = both[1];
    fragments[1][0] = both[2], fragments[1][1] = both[3];
}

// Stores a row of the warp's MMA tiles of sums at (row, column) of D.
DEVICE void store_row(fp16 *staging, const Sums (&acc)[WN / MMA_N], fp16 *d, int row, int column,
                      int m, int n) {
    const int lane = threadIdx.x % WARP_THREADS;
    for (int j = 0; j < WN / MMA_N; ++j)
        for (int pair = 0; pair < 2; ++pair) {
            const int i = lane / 4 + pair * 8;
            const int at = j * MMA_N + lane % 4 * 2;
            store_pair(&staging[place(i, at)], packed_pair(acc[j], pair));
        }
    __syncwarp(); // the strip is complete
    for (int chunk = lane; chunk < MMA_M * WN / CHUNK; chunk += WARP_THREADS) {
        const int i = chunk / (WN / CHUNK);
        const int j = chunk % (WN / CHUNK) * CHUNK;
        if (row + i < m && column + j < n)
            copy8(&d[size_t(row + i) * n + column + j], &staging[place(i, j)]);
    }
    __syncwarp(); // all have read it before the next strip overwrites it
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const fp16 *a, const fp16 *b, fp16 *d, int m, int n, int k) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
    const int tiles_m = ceil_div(m, BM);
    const int tiles_n = ceil_div(n, BN);
    const int k_tiles = ceil_div(k, BK);
    const int warp = threadIdx.x / WARP_THREADS;
    const int warp_m = warp / WARPS_N * WM;
    const int warp_n = warp % WARPS_N * WN;

    for (int index = blockIdx.x; index < tiles_m * tiles_n; index += gridDim.x) {
        const tile_coordinate tile = grouped_tile(index, tiles_m, tiles_n, GROUP);
        TileChunks<BM, BK, THREADS> chunks_a(a, tile.m * BM, m, k);
        TileChunks<BN, BK, THREADS> chunks_b(b, tile.n * BN, n, k);
        const int row = tile.m * BM + warp_m;
        const int column = tile.n * BN + warp_n;
        Sums acc[WM / MMA_M][WN / MMA_N] = {};
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
            copy_tile(smem.a, chunks_a, k_tile * BK + chunks_a.column() < k);
            copy_tile(smem.b, chunks_b, k_tile * BK + chunks_a.column() < k);
            __syncthreads(); // the tiles are complete
            for (int kk = 0; kk < BK; kk += MMA_K) {
                uint32_t fragments_a[WM / MMA_M][4];
                uint32_t fragments_b[WN / MMA_N][2];
                for (int j = 0; j < WN / MMA_N; j += 2)
                    load_b(&fragments_b[j], &smem.b[j * MMA_N * BK], warp_n, kk);
                for (int i = 0; i < WM / MMA_M; ++i) {
                    load_a(fragments_a[i], &smem.a[i * MMA_M * BK], warp_m, kk);
                    for (int j = 0; j < WN / MMA_N; ++j) {
                        const int at = i % 2 ? WN / MMA_N - 1 - j : j; // serpentine
                        mma_m16n8k16(acc[i][at], fragments_a[i], fragments_b[at]);
                    }
                }
            }
            __syncthreads(); // all have read the tiles before the next ones overwrite them
        }
        for (int i = 0; i < WM / MMA_M; ++i)
            store_row(smem.d[warp], acc[i], d, row + i * MMA_M, column, m, n);
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
                      static_cast<fp16 *>(p->d), p->m, p->n, p->k);
    }
};

static const step a04 = {
    .name = "a04",
    .idea = "the XOR swizzle",
    .computes = GEMM_FP16,
    .fp16_sums = FP16_SUMS,
    .compute_capability = 80,
    .and_later = true,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .largest_k = TILE_CHUNKS_LARGEST_K,
    .tile = {.m = BM, .n = BN, .k = BK, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(a04, argc, argv); }
