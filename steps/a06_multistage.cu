// a06: a ring of stages, fragments a k-slice ahead.
//
// With two stages a k-tile must arrive while one other is multiplied, and each k-slice begins with
// a wait for ldmatrix. Now the copies run STAGES - 1 k-tiles ahead, and while a k-slice is
// multiplied, ldmatrix loads the next one. Then the L2 is the bottleneck, so the tile grows as
// well: 256 x 256 reads 33 % fewer bytes per FLOP, and its sums fit in registers as fp16; prepare()
// takes it unless that wastes a wave of CTAs. Where a CTA has 99 KB of shared memory (8.6, 8.9,
// 12.0), the tile stays 256 x 128, in two stages. Any GPU from 8.0 on. Expected: 1.5x a05.
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
constexpr int BK = 64;
constexpr int MOST_STAGES = 3;
constexpr int FEW_STAGES = 2; // where a CTA has less than 160 KB of shared memory
constexpr int WN = 64;
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 16;
constexpr int GROUP = 8;                       // rows of tiles in a group of the schedule
constexpr int NARROW = 128;                    // BN of the narrow tile; its WM is 64
constexpr int WIDE = FP16_SUMS ? 256 : NARROW; // of the wide one, WM 128: too many sums for fp32
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * WARP_THREADS;
static_assert(BK == SWIZZLE_COLUMNS && WN == BK, "a row of a tile is one row of the swizzle");

using Sums = TileSums<FP16_SUMS>;

template <int BN, int STAGES, bool IN_STAGE>
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
template <int BN, int STAGES>
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

template <int BN, int STAGES, bool IN_STAGE>
__global__ void __launch_bounds__(THREADS, 1)
    gemm(const fp16 *a, const fp16 *b, fp16 *d, int m, int n, int k) {
    constexpr int WARPS_N = BN / WN;
    constexpr int WM = BM / (WARPS / WARPS_N);
    auto &smem = dynamic_smem<SharedStorage<BN, STAGES, IN_STAGE>>();
    const int tiles_m = ceil_div(m, BM);
    const int tiles_n = ceil_div(n, BN);
    const int k_tiles = ceil_div(k, BK);
    const int warp = threadIdx.x / WARP_THREADS;
    const int warp_m = warp / WARPS_N * WM;
    const int warp_n = warp % WARPS_N * WN;

    Ahead<BN, STAGES> ahead;
    for (int i = 0; i < STAGES - 1; ++i)
        ahead.copy(smem, a, b, m, n, k);
    cp_async_wait<STAGES - 2>();
    __syncthreads(); // all copies into the first stage have landed
    int stage = 0;
    uint32_t fragments_a[WM / MMA_M][4];
    uint32_t fragments_b[2][WN / MMA_N][2]; // of this k-slice and of the next
    for (int j = 0; j < WN / MMA_N; j += 2)
        load_b(&fragments_b[0][j], &smem.b[0][j * MMA_N * BK], warp_n, 0);
    for (int i = 0; i < WM / MMA_M; ++i)
        load_a(fragments_a[i], &smem.a[0][i * MMA_M * BK], warp_m, 0);
    for (int index = blockIdx.x; index < tiles_m * tiles_n; index += gridDim.x) {
        const tile_coordinate tile = grouped_tile(index, tiles_m, tiles_n, GROUP);
        const int row = tile.m * BM + warp_m;
        const int column = tile.n * BN + warp_n;
        Sums acc[WM / MMA_M][WN / MMA_N] = {};
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
            ahead.copy(smem, a, b, m, n, k); // into the stage that all have read
#pragma unroll // else `slice` is a run-time index, and the fragments go to local memory
            for (int kk = 0; kk < BK; kk += MMA_K) {
                const int slice = kk / MMA_K % 2;
                const int next = (kk + MMA_K) % BK;
                if (next == 0) {
                    cp_async_wait<STAGES - 2>(); // copies into the next stage have landed ...
                    __syncthreads();             // ... of all threads; and all have read this one
                    stage = (stage + 1) % STAGES;
                }
                for (int i = 0; i < WM / MMA_M; ++i) {
                    if (i < WN / MMA_N / 2)
                        load_b(&fragments_b[1 - slice][i * 2], &smem.b[stage][i * 2 * MMA_N * BK],
                               warp_n, next);
                    for (int j = 0; j < WN / MMA_N; ++j) {
                        const int at = i % 2 ? WN / MMA_N - 1 - j : j; // serpentine
                        mma_m16n8k16(acc[i][at], fragments_a[i], fragments_b[slice][at]);
                    }
                    load_a(fragments_a[i], &smem.a[stage][i * MMA_M * BK], warp_m, next);
                }
            }
        }
        fp16 *staging = IN_STAGE ? &smem.a[ahead.stage][warp * MMA_M * WN] : smem.d[warp];
        for (int i = 0; i < WM / MMA_M; ++i)
            store_row(staging, acc[i], d, row + i * MMA_M, column, m, n);
        if (IN_STAGE)
            __syncthreads(); // no strip is in use when copies go to this stage
    }
    cp_async_wait<0>(); // no copy is left behind
}

struct State {
    decltype(&gemm<WIDE, MOST_STAGES, false>) kernel;
    size_t smem;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        int multiprocessors, most;
        if (multiprocessor_count(&multiprocessors) || max_dynamic_smem(&most))
            return 1;
        const int wide = ceil_div(p->m, BM) * ceil_div(p->n, WIDE); // tiles
        const int narrow = ceil_div(p->m, BM) * ceil_div(p->n, NARROW);
        const bool is_wide =
            sizeof(SharedStorage<WIDE, MOST_STAGES, false>) <= size_t(most) &&
            ceil_div(wide, multiprocessors) * WIDE <= ceil_div(narrow, multiprocessors) * NARROW;
        if (is_wide)
            take<WIDE, MOST_STAGES, false>();
        else if (sizeof(SharedStorage<NARROW, MOST_STAGES, false>) <= size_t(most))
            take<NARROW, MOST_STAGES, false>();
        else
            take<NARROW, FEW_STAGES, true>();
        ctas = balanced_workers(is_wide ? wide : narrow, multiprocessors);
        return allow_dynamic_smem(kernel, smem);
    }

    template <int BN, int STAGES, bool IN_STAGE>
    void take() {
        kernel = gemm<BN, STAGES, IN_STAGE>;
        smem = sizeof(SharedStorage<BN, STAGES, IN_STAGE>);
    }

    int start(const problem *p) const {
        return launch(kernel, dim3(ctas), dim3(THREADS), dim3(1), smem, p->stream,
                      static_cast<const fp16 *>(p->a), static_cast<const fp16 *>(p->b),
                      static_cast<fp16 *>(p->d), p->m, p->n, p->k);
    }
};

static const step a06 = {
    .name = "a06",
    .idea = "a ring of stages, fragments a k-slice ahead",
    .computes = GEMM_FP16,
    .fp16_sums = FP16_SUMS,
    .compute_capability = 80,
    .and_later = true,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .largest_k = TILE_CHUNKS_LARGEST_K,
    .tile = {.m = BM, .n = NARROW, .k = BK, .wide_n = WIDE, .stages = MOST_STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(a06, argc, argv); }
