// f06: a block is stored while the next is multiplied.
//
// At the end of f05's tile a consumer stores two blocks one after the other, and starts no wgmma
// meanwhile. Here each block is stored during the wgmmas that follow: the first during the last
// k-tile's, the second during the next tile's. So they never wait for each other's staging memory.
// Tiles are 128 x 256, their blocks two of columns: 128 scales of rows a k-tile instead of 256, and
// four stages fit. Expected: 3 % faster than f05 at k = 1536, 1 % at k = 16384.
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
constexpr int BN = 256;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int CONSUMERS = 2;
constexpr int WM = BM / CONSUMERS; // rows of a consumer warpgroup
constexpr int MMA_M = 64;
constexpr int MMA_N = SCALE_BLOCK;
constexpr int MMA_K = 32;
constexpr int GROUP = 16; // rows of tiles in a group of the schedule
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr int BLOCKS = BN / MMA_N; // of columns; each has a scale of its own
constexpr int RUN = 4;             // scales of B in one load: TMA's least is 16 bytes
enum { STAGING_BARRIER = 1 };      // named barriers, one per consumer
static_assert(BK == SCALE_BLOCK, "a row of a k-tile has one scale");
static_assert(WM == MMA_M, "a consumer has the rows of one wgmma");
static_assert(BLOCKS == 2, "one is stored while the other is multiplied");
static_assert(BK * sizeof(e4m3) == SWIZZLE_BYTES,
              "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) e4m3 a[STAGES][BM * BK];
    alignas(1024) e4m3 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][MMA_N / SWIZZLE_COLUMNS][MMA_M * SWIZZLE_COLUMNS];
    alignas(128) float scales[STAGES][BM + SWIZZLE_BYTES / sizeof(float)]; // A's, then B's
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const TensorMap *scale_a, const TensorMap *scale_b, int tile_m, int tile_n,
                      int k_tiles, Ring<STAGES> &ring) {
    const int bytes = sizeof(smem.a[0]) + sizeof(smem.b[0]) + (BM + BLOCKS * RUN) * sizeof(float);
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const int stage = ring.stage;
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], ring.phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], bytes);
        const int k = k_tile * BK;
        tma_load_2d(smem.a[stage], map_a, k, tile_m * BM, &smem.full[stage]);
        tma_load_2d(smem.scales[stage], scale_a, tile_m * BM, k_tile, &smem.full[stage]);
        tma_load_2d(&smem.scales[stage][BM], scale_b, k_tile / RUN * RUN, tile_n * BLOCKS,
                    &smem.full[stage]);
        // The next wave reads the same rows of A, and others of B.
        tma_load_2d_hint(smem.b[stage], map_b, k, tile_n * BN, &smem.full[stage],
                         evict_first_policy());
        ring.next();
    }
}

// A consumer warp hands a stage back when its wgmmas and its lanes have read it.
DEVICE void release_stage(SharedStorage &smem, int stage) {
    fence_proxy_async(); // this lane's reads of scales come before the load that overwrites them
    __syncwarp();
    if (threadIdx.x % WARP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// Where a block is in D.
struct Place {
    int row; // -1: there is none
    int column;
};

// A consumer warpgroup: adds what the tensor cores have added up, times its scales, in fp32.
DEVICE void promote(float (&sums)[MMA_N / 2], const float (&acc)[MMA_N / 2],
                    const float (&factors)[2], bool first) {
    for (int i = 0; i < MMA_N / 2; ++i)
        sums[i] = fmaf(acc[i], factors[i / 2 % 2], first ? 0.0f : sums[i]);
}

DEVICE void store_tile(SharedStorage &smem, const TensorMap *map_d, const float (&acc)[MMA_N / 2],
                       int consumer, int row, int column);

// A consumer warpgroup: multiplies the tile's k-tiles from `begin` to `end`, and adds them to the
// sums of its rows. During the wgmmas of block `busy` it stores the other block to D at `at`.
DEVICE void multiply_tile(float (&sums)[BLOCKS][MMA_N / 2], SharedStorage &smem,
                          const TensorMap *map_d, int consumer, int begin, int end, int busy,
                          const Place &at, Ring<STAGES> &ring) {
    float acc[MMA_N / 2]; // of one block of columns
#pragma unroll 4          // the wait for the next stage then begins while this one is promoted
    for (int k_tile = begin; k_tile < end; ++k_tile) {
        const int stage = ring.stage;
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], ring.phase);
        const uint64_t a = matrix_descriptor(&smem.a[stage][consumer * WM * BK]);
        const float *scales = &smem.scales[stage][consumer * WM + accumulator_row()];
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
            const uint64_t b = matrix_descriptor(&smem.b[stage][block * MMA_N * BK]);
            const float scale = smem.scales[stage][BM + block * RUN + k_tile % RUN];
            const float factors[2] = {scales[0] * scale, scales[8] * scale};
            wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
            for (int kk = 0; kk < BK; kk += MMA_K)
                wgmma_e4m3<MMA_N>(acc, advance_k<e4m3>(a, kk), advance_k<e4m3>(b, kk),
                                  kk > 0); // the first overwrites
            wgmma_commit();
            if (block == busy && at.row >= 0)
                store_tile(smem, map_d, sums[1 - block], consumer, at.row, at.column);
            wgmma_wait<0>(acc);
            if (block == BLOCKS - 1)
                release_stage(smem, stage); // the wgmmas have read the stage
            promote(sums[block], acc, factors, begin == 0);
        }
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
    const int matrix_row = warp * 16 + lane % 16;

    if (leader)
        bulk_wait_read<0>(); // the last store has read the staging memory ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
    for (int j = 0; j < MMA_N; j += 16) {
        bf16 *slice = smem.d[consumer][j / SWIZZLE_COLUMNS];
        const int chunk = j % SWIZZLE_COLUMNS + lane / 16 * 8;
        stmatrix_x4(&slice[swizzle_128b(matrix_row, chunk)], &acc[j / 2]);
    }
    fence_proxy_async(); // what this thread wrote is seen by TMA ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all wrote
    if (leader) {
        for (int j = 0; j < MMA_N; j += SWIZZLE_COLUMNS)
            tma_store_2d_hint(map_d, smem.d[consumer][j / SWIZZLE_COLUMNS], column + j, row,
                              evict_first_policy());
        bulk_commit();
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const __grid_constant__ TensorMap scale_a,
         const __grid_constant__ TensorMap scale_b, const __grid_constant__ grouped_order order,
         int k) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
    const int warpgroup = warpgroup_index();

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(&smem.full[stage], 1);
            mbarrier_init(&smem.empty[stage], CONSUMERS * WARPGROUP_THREADS / WARP_THREADS);
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
                load_tile(smem, &map_a, &map_b, &scale_a, &scale_b, tile.m, tile.n, ceil_div(k, BK),
                          ring);
            }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        const int k_tiles = ceil_div(k, BK);
        float sums[BLOCKS][MMA_N / 2];
        Place before = {-1, 0}; // of the block that is not stored yet
        for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
            const tile_coordinate tile = ordered_tile(&order, i);
            const Place at = {tile.m * BM + consumer * WM, tile.n * BN};
            multiply_tile(sums, smem, &map_d, consumer, 0, 1, 0, before, ring);
            multiply_tile(sums, smem, &map_d, consumer, 1, k_tiles - 1, -1, at, ring);
            if (k_tiles > 1)
                multiply_tile(sums, smem, &map_d, consumer, k_tiles - 1, k_tiles, 1, at, ring);
            else
                store_tile(smem, &map_d, sums[0], consumer, at.row, at.column);
            before = {at.row, at.column + MMA_N};
        }
        if (before.row >= 0)
            store_tile(smem, &map_d, sums[1], consumer, before.row, before.column);
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    TensorMap scale_a, scale_b;
    grouped_order order;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        order = grouped_order_of(ceil_div(p->m, BM), ceil_div(p->n, BN), GROUP);
        return make_tensor_map_2d<e4m3>(&map_a, p->a, p->m, p->k, BM, BK) ||
               make_tensor_map_2d<e4m3>(&map_b, p->b, p->n, p->k, BN, BK) ||
               make_tensor_map_2d<float>(&scale_a, p->scale_a, ceil_div(p->k, BK), p->m, 1, BM,
                                         UNSWIZZLED) ||
               make_tensor_map_2d<float>(&scale_b, p->scale_b, ceil_div(p->n, MMA_N),
                                         ceil_div(p->k, RUN * BK) * RUN, BLOCKS, RUN, UNSWIZZLED) ||
               make_tensor_map_2d(&map_d, p->d, p->m, p->n, MMA_M, SWIZZLE_COLUMNS) ||
               allow_dynamic_smem(gemm, sizeof(SharedStorage)) || balanced_ctas(&ctas, order.tiles);
    }

    int start(const problem *p) const {
        return launch(gemm, dim3(ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage), p->stream,
                      map_a, map_b, map_d, scale_a, scale_b, order, p->k);
    }
};

static const step f06 = {
    .name = "f06",
    .idea = "a block is stored while the next is multiplied",
    .computes = GEMM_FP8,
    .block_scales = true,
    .promotion = BK,
    .compute_capability = 90,
    .multiple = {.m = 4, .n = 8, .k = 16},
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(f06, argc, argv); }
