// f03: a scale for each block of 128.
//
// What is 30,000 times smaller than a matrix's largest number loses bits: e4m3's range is short. So
// 128 elements of a row of A have a scale, and each 128 x 128 of B. A promotion covers just such a
// block: it multiplies the sums by both scales as it adds them, so an addition becomes an fma. A
// consumer loads the scales before it waits for the k-tile, and needs them after its wgmmas. The
// tile's columns lie in up to three blocks of B. Expected: 4 % slower than f02.
#include "step.h"
#include "device/grouped_order.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/ring.cuh"
#include "device/stmatrix.cuh"
#include "device/tma.cuh"
#include "device/wgmma_e4m3.cuh"

constexpr int BM = 128;
constexpr int BN = 200;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int SPANNED = 3; // blocks of B's scales that the columns of a tile may be in
constexpr int CONSUMERS = 2;
constexpr int WM = BM / CONSUMERS; // rows of a consumer warpgroup
constexpr int MMA_M = 64;
constexpr int BLOCKS = WM / MMA_M; // of a consumer's rows, MMA_M each
constexpr int MMA_N = BN;
constexpr int MMA_K = 32;
constexpr int GROUP = 8; // rows of tiles in a group of the schedule
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
enum { STAGING_BARRIER = 1 }; // named barriers, one per consumer
static_assert(BN / 8 % 2 == 1, "rows of the staging memory are an odd number of chunks");
static_assert(BK == SCALE_BLOCK, "a row of a k-tile has one scale");
static_assert(SCALE_BLOCK - 8 + BN <= SPANNED * SCALE_BLOCK, "a tile is in no more blocks");
static_assert(BLOCKS == 1, "a thread has two rows");
static_assert(BK * sizeof(e4m3) == SWIZZLE_BYTES,
              "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) e4m3 a[STAGES][BM * BK];
    alignas(1024) e4m3 b[STAGES][BN * BK];
    alignas(128) bf16 d[CONSUMERS][MMA_M * BN]; // not swizzled: TMA needs 128 bytes
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      int tile_m, int tile_n, int k_tiles, Ring<STAGES> &ring) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const int stage = ring.stage;
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], ring.phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = k_tile * BK;
        tma_load_2d(smem.a[stage], map_a, k, tile_m * BM, &smem.full[stage]);
        // The next wave reads the same rows of A, and others of B.
        tma_load_2d_hint(smem.b[stage], map_b, k, tile_n * BN, &smem.full[stage],
                         evict_first_policy());
        ring.next();
    }
}

// A consumer warpgroup hands a stage back when its wgmmas have read it. One arrival speaks for all
// four warps: a wgmma is one operation of the warpgroup, and wgmma_wait waits for the whole of it.
DEVICE void release_stage(SharedStorage &smem, int stage) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// Where a consumer's thread finds its scales.
struct ScalePlaces {
    const float *a; // [k-tile][m]
    const float *b; // [block][columns]
    int m, columns;
    int row;    // of A, the thread's first
    int column; // of the tile, its first
    int last_block;
};

// The scales that a thread needs for a k-tile.
struct Scales {
    float a[BLOCKS][2];
    float b[SPANNED];
};

// The fragment has rows 8 apart. Past the edge the last scale is read.
DEVICE ScalePlaces scale_places(const float *scale_a, const float *scale_b, int m, int n, int k,
                                int row, int column) {
    const int first = row + accumulator_row();
    const int columns = ceil_div(k, 4 * SCALE_BLOCK) * 4;
    return {scale_a, scale_b, m, columns, first, column, (n - 1) / SCALE_BLOCK};
}

DEVICE Scales load_scales(const ScalePlaces &at, int k_tile) {
    Scales scales;
    for (int i = 0; i < 2 * BLOCKS; ++i) {
        const int row = min(at.row + i / 2 * MMA_M + i % 2 * 8, at.m - 1);
        scales.a[i / 2][i % 2] = at.a[size_t(k_tile) * at.m + row];
    }
    for (int i = 0; i < SPANNED; ++i)
        scales.b[i] =
            at.b[size_t(min(at.column / SCALE_BLOCK + i, at.last_block)) * at.columns + k_tile];
    return scales;
}

// A consumer warpgroup: adds what the tensor cores have added up, times its scales, in fp32.
DEVICE void promote(float (&sums)[BLOCKS][MMA_N / 2], const float (&acc)[BLOCKS][MMA_N / 2],
                    const Scales &scales, int column) { // the tile's first, of its block
    for (int i = 0; i < MMA_N / 2; ++i) {
        const int block = (column + i / 4 * 8) / SCALE_BLOCK; // of 8 columns
        const float b = block == 0 ? scales.b[0] : block == 1 ? scales.b[1] : scales.b[2];
        sums[0][i] = fmaf(acc[0][i], scales.a[0][i / 2 % 2] * b, sums[0][i]);
    }
}

// A consumer warpgroup: multiplies what the ring holds, and adds it to the sums of its rows.
DEVICE void multiply_tile(float (&sums)[BLOCKS][MMA_N / 2], SharedStorage &smem, int consumer,
                          const ScalePlaces &places, int k_tiles, Ring<STAGES> &ring) {
    float acc[BLOCKS][MMA_N / 2];
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const Scales scales = load_scales(places, k_tile); // arrive while the wgmmas run
        const int stage = ring.stage;
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], ring.phase);
        const uint64_t b = matrix_descriptor(smem.b[stage]);
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            for (int block = 0; block < BLOCKS; ++block) {
                const int row = consumer * WM + block * MMA_M;
                const uint64_t a = matrix_descriptor(&smem.a[stage][row * BK]);
                wgmma_e4m3<MMA_N>(acc[block], advance_k<e4m3>(a, kk), advance_k<e4m3>(b, kk),
                                  kk > 0); // the first overwrites
            }
        wgmma_commit();
        wgmma_wait<0>(acc);
        release_stage(smem, stage); // the wgmmas have read the stage
        promote(sums, acc, scales, places.column % SCALE_BLOCK);
        ring.next();
    }
}

// A consumer warpgroup: writes a block of accumulators to its staging memory; one of its threads
// then starts the store to D at (row, column). stmatrix takes two 8 x 8 matrices, one below the
// other, and the two to their right: the first 16 lanes name the rows of the left pair, the others
// those of the right.
DEVICE void store_tile(SharedStorage &smem, const TensorMap *map_d, const float (&acc)[MMA_N / 2],
                       int consumer, int row, int column) {
    const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;
    const bool leader = threadIdx.x % WARPGROUP_THREADS == 0;
    bf16 *staged = &smem.d[consumer][(warp * 16 + lane % 16) * BN];

    if (leader)
        bulk_wait_read<0>(); // the last store has read the staging memory ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
    for (int j = 0; j + 16 <= BN; j += 16)
        stmatrix_x4(&staged[j + lane / 16 * 8], &acc[j / 2]);
    stmatrix_x2(&staged[BN - 8], &acc[(BN - 8) / 2]); // the last 8 columns
    fence_proxy_async();                              // what this thread wrote is seen by TMA ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all wrote
    if (leader) {
        tma_store_2d_hint(map_d, smem.d[consumer], column, row, evict_first_policy());
        bulk_commit();
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const float *scale_a, const float *scale_b,
         const __grid_constant__ grouped_order order, int m, int n, int k) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
    const int warpgroup = warpgroup_index();

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(&smem.full[stage], 1);
            mbarrier_init(&smem.empty[stage], CONSUMERS);
        }
        mbarrier_init_fence(); // before any thread or copy uses them
    }
    __syncthreads(); // the barriers are ready before anyone arrives on them

    Ring<STAGES> ring; // of this role; it goes on from tile to tile
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
                const tile_coordinate tile = ordered_tile(&order, i);
                load_tile(smem, &map_a, &map_b, tile.m, tile.n, ceil_div(k, BK), ring);
            }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        const int tiles_m = ceil_div(m, BM), tiles_n = ceil_div(n, BN);
        // grouped_tile takes fewer registers than ordered_tile: the accumulators need them.
        for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
            const tile_coordinate tile = grouped_tile(i, tiles_m, tiles_n, GROUP);
            float acc[BLOCKS][MMA_N / 2] = {};
            const ScalePlaces places =
                scale_places(scale_a, scale_b, m, n, k, tile.m * BM + consumer * WM, tile.n * BN);
            multiply_tile(acc, smem, consumer, places, ceil_div(k, BK), ring);
            const int row = tile.m * BM + consumer * WM;
            for (int block = 0; block < BLOCKS; ++block) {
                store_tile(smem, &map_d, acc[block], consumer, row + block * MMA_M, tile.n * BN);
            }
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    grouped_order order;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        order = grouped_order_of(ceil_div(p->m, BM), ceil_div(p->n, BN), GROUP);
        return make_tensor_map_2d<e4m3>(&map_a, p->a, p->m, p->k, BM, BK) ||
               make_tensor_map_2d<e4m3>(&map_b, p->b, p->n, p->k, BN, BK) ||
               make_tensor_map_2d(&map_d, p->d, p->m, p->n, MMA_M, BN, UNSWIZZLED) ||
               allow_dynamic_smem(gemm, sizeof(SharedStorage)) || balanced_ctas(&ctas, order.tiles);
    }

    int start(const problem *p) const {
        return launch(gemm, dim3(ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage), p->stream,
                      map_a, map_b, map_d, p->scale_a, p->scale_b, order, p->m, p->n, p->k);
    }
};

static const step f03 = {
    .name = "f03",
    .idea = "a scale for each block of 128",
    .computes = GEMM_FP8,
    .block_scales = true,
    .promotion = BK,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 16},
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(f03, argc, argv); }
