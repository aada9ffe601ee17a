// f06: a block is stored while the next is multiplied.
//
// At the end of f05's tile a consumer stores two blocks one after the other, and starts no wgmma
// meanwhile. Here each block is stored during the wgmmas that follow: the first during the last
// k-tile's, the second during the next tile's. So they never wait for each other's staging memory.
// Tiles are 128 x 256, their blocks two of columns: 128 scales of rows a k-tile instead of 256, and
// four stages fit. Expected: 3 % faster than f05 at k = 1536, 1 % at k = 16384.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/stmatrix.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"
#include "device/wgmma_e4m3.cuh"

constexpr int BM = 128;
constexpr int BN = 256;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int CONSUMERS = 2;
constexpr int GROUP = 16; // rows of tiles in a group of the schedule
constexpr int WM = 64;    // rows of a wgmma
constexpr int MMA_N = SCALE_BLOCK;
constexpr int MMA_K = 32;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr int BLOCKS = BN / MMA_N; // of columns; each has a scale of its own
constexpr int RUN = 4;             // scales of B in one load: TMA's least is 16 bytes
enum { STAGING_BARRIER = 1 };      // named barriers, one per consumer
static_assert(BK == SCALE_BLOCK, "a row of a k-tile has one scale");
static_assert(BM == CONSUMERS * WM, "a consumer has the rows of one wgmma");
static_assert(BLOCKS == 2, "one is stored while the other is multiplied");
static_assert(BK * sizeof(e4m3) == SWIZZLE_BYTES,
              "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) e4m3 a[STAGES][BM * BK];
    alignas(1024) e4m3 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][MMA_N / SWIZZLE_COLUMNS][WM * SWIZZLE_COLUMNS];
    alignas(128) float scales[STAGES][BM + SWIZZLE_BYTES / sizeof(float)]; // A's, then B's
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// Loads one operand's part of a stage. What the next wave reads again stays in the L2; the rest is
// evicted first.
DEVICE void load_operand(e4m3 *tile, const TensorMap *map, int k, int row, uint64_t *full,
                         bool again) {
    if (again)
        tma_load_2d(tile, map, k, row, full);
    else
        tma_load_2d_hint(tile, map, k, row, full, evict_first_policy());
}

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const TensorMap *scale_a, const TensorMap *scale_b,
                      const scheduled_tile &tile, int k_tiles, int &stage, int &phase) {
    const int bytes = sizeof(smem.a[0]) + sizeof(smem.b[0]) + (BM + BLOCKS * RUN) * sizeof(float);
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], bytes);
        const int k = k_tile * BK;
        load_operand(smem.a[stage], map_a, k, tile.at.m * BM, &smem.full[stage], tile.row_again);
        tma_load_2d(smem.scales[stage], scale_a, tile.at.m * BM, k_tile, &smem.full[stage]);
        tma_load_2d(&smem.scales[stage][BM], scale_b, k_tile / RUN * RUN, tile.at.n * BLOCKS,
                    &smem.full[stage]);
        load_operand(smem.b[stage], map_b, k, tile.at.n * BN, &smem.full[stage], tile.column_again);
        stage = (stage + 1) % STAGES;
        phase ^= stage == 0;
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
                          const Place &at, int &stage, int &phase) {
    float acc[MMA_N / 2]; // of one block of columns
#pragma unroll 4          // the wait for the next stage then begins while this one is promoted
    for (int k_tile = begin; k_tile < end; ++k_tile) {
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], phase);
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
        stage = (stage + 1) % STAGES;
        phase ^= stage == 0;
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
         const __grid_constant__ TensorMap scale_b, const scheduled_tile *order, int tiles, int k) {
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

    int stage = 0; // of the ring; it continues from tile to tile
    int phase = 0; // the parity of this pass over the ring
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        for (int i = blockIdx.x; threadIdx.x == 0 && i < tiles; i += gridDim.x) {
            const scheduled_tile tile = order[i];
            load_tile(smem, &map_a, &map_b, &scale_a, &scale_b, tile, ceil_div(k, BK), stage,
                      phase);
        }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        const int k_tiles = ceil_div(k, BK);
        float sums[BLOCKS][MMA_N / 2];
        Place before = {-1, 0}; // of the block that is not stored yet
        for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
            const tile_coordinate tile = order[i].at; // read here: multiplying hides the latency
            const Place at = {tile.m * BM + consumer * WM, tile.n * BN};
            multiply_tile(sums, smem, &map_d, consumer, 0, 1, 0, before, stage, phase);
            multiply_tile(sums, smem, &map_d, consumer, 1, k_tiles - 1, -1, at, stage, phase);
            if (k_tiles > 1)
                multiply_tile(sums, smem, &map_d, consumer, k_tiles - 1, k_tiles, 1, at, stage,
                              phase);
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
    scheduled_tile *order; // of tiles, in device memory
    int tiles;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves
};

// The tiles of D in the order of the schedule, in device memory; nullptr if that fails.
static scheduled_tile *make_order(int tiles_m, int tiles_n, int ctas) {
    const int tiles = tiles_m * tiles_n;
    scheduled_tile *order = new scheduled_tile[tiles];
    for (int i = 0; i < tiles; ++i)
        order[i].at = grouped_tile(i, tiles_m, tiles_n, GROUP);
    mark_reuse(order, tiles, ctas);
    scheduled_tile *uploaded = upload_array(order, tiles);
    delete[] order;
    return uploaded;
}

static int prepare(const problem *p, void **state) {
    State *made = new State{};
    *state = made;
    if (make_tensor_map_2d<e4m3>(&made->map_a, p->a, p->m, p->k, BM, BK) ||
        make_tensor_map_2d<e4m3>(&made->map_b, p->b, p->n, p->k, BN, BK) ||
        make_tensor_map_2d<float>(&made->scale_a, p->scale_a, ceil_div(p->k, BK), p->m, 1, BM,
                                  UNSWIZZLED) ||
        make_tensor_map_2d<float>(&made->scale_b, p->scale_b, ceil_div(p->n, MMA_N),
                                  ceil_div(p->k, RUN * BK) * RUN, BLOCKS, RUN, UNSWIZZLED) ||
        make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, WM, SWIZZLE_COLUMNS) ||
        allow_dynamic_smem(gemm, sizeof(SharedStorage)) || multiprocessor_count(&made->ctas))
        return 1;
    const int tiles_m = ceil_div(p->m, BM);
    const int tiles_n = ceil_div(p->n, BN);
    made->tiles = tiles_m * tiles_n;
    made->ctas = balanced_workers(made->tiles, made->ctas);
    made->order = make_order(tiles_m, tiles_n, made->ctas);
    return made->order == nullptr;
}

static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    return launch(gemm, dim3(made->ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage), p->stream,
                  made->map_a, made->map_b, made->map_d, made->scale_a, made->scale_b, made->order,
                  made->tiles, p->k);
}

static void release(void *state) {
    release_array(static_cast<State *>(state)->order);
    delete static_cast<State *>(state);
}

static const step f06 = {
    .name = "f06",
    .idea = "a block is stored while the next is multiplied",
    .computes = GEMM_FP8,
    .block_scales = true,
    .promotion = BK,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 4,
    .multiple_n = 8,
    .multiple_k = 16,
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&f06, argc, argv); }
