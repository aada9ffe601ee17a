// a05: cp.async, two stages.
//
// In a04 each copy passes through registers, and no warp multiplies until the data has arrived.
// cp.async copies straight to shared memory: a thread starts its copies and continues. With two
// stages the next k-tile is in flight while the warps multiply this one, and one barrier per k-tile
// is enough. With the staging of D that takes 112 KB of shared memory. Where a CTA has 99 KB (8.6,
// 8.9, 12.0), D is staged in the stage that was read last. Any GPU from 8.0 on. Expected: 2x a04.
#include "step.h"
#include "device/cp_async.cuh"
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
constexpr int STAGES = 2;
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

template <bool IN_STAGE>
struct SharedStorage {
    alignas(1024) fp16 a[STAGES][BM * BK];
    alignas(1024) fp16 b[STAGES][BN * BK];
    // Staging: a strip of MMA_M rows per warp. If IN_STAGE it is in a stage of A instead.
    alignas(1024) fp16 d[IN_STAGE ? 1 : WARPS][MMA_M * WN];
};

// The index of (row, column) in a tile.
DEVICE int place(int row, int column) { return swizzle_128b(row, column); }

// Starts copying the next k-tile: zeros if its columns are outside the matrix.
template <typename Chunks>
DEVICE void copy_tile(fp16 *shared, Chunks &chunks, bool inside) {
    for (int i = 0; i < chunks.COUNT; ++i) {
        fp16 *to = &shared[i * chunks.STEP * BK + place(chunks.row(), chunks.column())];
        cp_async_cg(to, chunks.from(i), inside ? 16 : 0);
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

// Where the copies are: they run through the k-tiles of all of the CTA's tiles of D.
struct Ahead {
    TileChunks<BM, BK, THREADS> chunks_a{}; // zeros, should a CTA have no tile: it reads nothing
    TileChunks<BN, BK, THREADS> chunks_b{};
    int index = blockIdx.x; // of the tile of D
    int k_tile = 0;
    int stage = 0;
    int columns; // of A and B to copy; 0 past the last tile of D

    // Starts the copies of a k-tile, as one group, and moves on to the next k-tile.
    template <typename Storage>
    DEVICE void copy(Storage &smem, const fp16 *a, const fp16 *b, int m, int n, int k) {
        const int tiles_m = ceil_div(m, BM);
        const int tiles_n = ceil_div(n, BN);
        if (k_tile == 0)
            columns = index < tiles_m * tiles_n ? k : 0;
        if (k_tile == 0 && columns > 0) {
            const tile_coordinate tile = grouped_tile(index, tiles_m, tiles_n, GROUP);
            chunks_a.start(a, tile.m * BM, m, k);
            chunks_b.start(b, tile.n * BN, n, k);
        }
        const bool inside = k_tile * BK + chunks_a.column() < columns;
        copy_tile(smem.a[stage], chunks_a, inside);
        copy_tile(smem.b[stage], chunks_b, inside);
        cp_async_commit();
        stage = (stage + 1) % STAGES;
        if (++k_tile == ceil_div(k, BK))
            k_tile = 0, index += gridDim.x;
    }
};

template <bool IN_STAGE>
__global__ void __launch_bounds__(THREADS, 1)
    gemm(const fp16 *a, const fp16 *b, fp16 *d, int m, int n, int k) {
    auto &smem = dynamic_smem<SharedStorage<IN_STAGE>>();
    const int tiles_m = ceil_div(m, BM);
    const int tiles_n = ceil_div(n, BN);
    const int k_tiles = ceil_div(k, BK);
    const int warp = threadIdx.x / WARP_THREADS;
    const int warp_m = warp / WARPS_N * WM;
    const int warp_n = warp % WARPS_N * WN;

    Ahead ahead;
    for (int i = 0; i < STAGES - 1; ++i)
        ahead.copy(smem, a, b, m, n, k);
    int stage = 0;
    for (int index = blockIdx.x; index < tiles_m * tiles_n; index += gridDim.x) {
        const tile_coordinate tile = grouped_tile(index, tiles_m, tiles_n, GROUP);
        const int row = tile.m * BM + warp_m;
        const int column = tile.n * BN + warp_n;
        Sums acc[WM / MMA_M][WN / MMA_N] = {};
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
            cp_async_wait<STAGES - 2>(); // this thread's copies into the stage have landed ...
            __syncthreads(); // ... and all threads'; all have read the stage before, now free
            ahead.copy(smem, a, b, m, n, k);
            for (int kk = 0; kk < BK; kk += MMA_K) {
                uint32_t fragments_a[WM / MMA_M][4];
                uint32_t fragments_b[WN / MMA_N][2];
                for (int j = 0; j < WN / MMA_N; j += 2)
                    load_b(&fragments_b[j], &smem.b[stage][j * MMA_N * BK], warp_n, kk);
                for (int i = 0; i < WM / MMA_M; ++i) {
                    load_a(fragments_a[i], &smem.a[stage][i * MMA_M * BK], warp_m, kk);
                    for (int j = 0; j < WN / MMA_N; ++j) {
                        const int at = i % 2 ? WN / MMA_N - 1 - j : j; // serpentine
                        mma_m16n8k16(acc[i][at], fragments_a[i], fragments_b[at]);
                    }
                }
            }
            stage = (stage + 1) % STAGES;
        }
        if (IN_STAGE)
            __syncthreads(); // all have read the stage that copies go to next
        fp16 *staging = IN_STAGE ? &smem.a[ahead.stage][warp * MMA_M * WN] : smem.d[warp];
        for (int i = 0; i < WM / MMA_M; ++i)
            store_row(staging, acc[i], d, row + i * MMA_M, column, m, n);
    }
    cp_async_wait<0>(); // no copy is left behind
}

struct State {
    decltype(&gemm<true>) kernel;
    size_t smem;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        int multiprocessors, most;
        if (multiprocessor_count(&multiprocessors) || max_dynamic_smem(&most))
            return 1;
        const bool in_stage = size_t(most) < sizeof(SharedStorage<false>);
        kernel = in_stage ? gemm<true> : gemm<false>;
        smem = in_stage ? sizeof(SharedStorage<true>) : sizeof(SharedStorage<false>);
        ctas = balanced_workers(ceil_div(p->m, BM) * ceil_div(p->n, BN), multiprocessors);
        return allow_dynamic_smem(kernel, smem);
    }

    int start(const problem *p) const {
        return launch(kernel, dim3(ctas), dim3(THREADS), dim3(1), smem, p->stream,
                      static_cast<const fp16 *>(p->a), static_cast<const fp16 *>(p->b),
                      static_cast<fp16 *>(p->d), p->m, p->n, p->k);
    }
};

static const step a05 = {
    .name = "a05",
    .idea = "cp.async, two stages",
    .computes = GEMM_FP16,
    .fp16_sums = FP16_SUMS,
    .compute_capability = 80,
    .and_later = true,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .largest_k = TILE_CHUNKS_LARGEST_K,
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(a05, argc, argv); }
