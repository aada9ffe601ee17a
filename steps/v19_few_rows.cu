// v19, from v17: few rows.
//
// With 16 rows of A a tile of 256 x 200 wastes 15 of 16 of its multiplications, and 41 tiles leave
// most SMs idle. But D^T = B * A^T: with A and B exchanged, the long side of B is the 64 rows of a
// wgmma, and the few rows of A are its columns. The kernel is the same; only the store differs.
// stmatrix transposes each 8 x 8 matrix on its way to the staging memory, so that D leaves by rows.
// A deep ring keeps DRAM busy, because B is read just once. Expected for 16 rows: 2x over v18.
#include "step.h"
#include "device/dependent_launch.cuh"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/stmatrix.cuh"
#include "device/scheduled_tile.h"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

constexpr int BM = 128; // rows of B, and columns of D
constexpr int BN = 64;  // rows of A, and rows of D
constexpr int BK = 64;
constexpr int STAGES = 8;
constexpr int CONSUMERS = 2;
constexpr int GROUP = 8; // rows of tiles in a group of the schedule
constexpr int WM = 64;   // rows of a wgmma
constexpr int MMA_N = BN;
constexpr int MMA_K = 16;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr int BLOCKS = BM / WM / CONSUMERS; // of WM rows, of each consumer
enum { STAGING_BARRIER = 1 };               // named barriers, one per consumer
static_assert(WM == SWIZZLE_COLUMNS, "a block's columns of D are one row of the swizzle");
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][BN * WM]; // transposed
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// Loads one operand's part of a stage. What the next wave reads again stays in the L2; the rest is
// evicted first.
DEVICE void load_operand(bf16 *tile, const TensorMap *map, int k, int row, uint64_t *full,
                         bool again) {
    if (again)
        tma_load_2d(tile, map, k, row, full);
    else
        tma_load_2d_hint(tile, map, k, row, full, evict_first_policy());
}

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const scheduled_tile &tile, int k_tiles, bool backwards, int &stage,
                      int &phase) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = (backwards ? k_tiles - 1 - k_tile : k_tile) * BK;
        load_operand(smem.a[stage], map_a, k, tile.at.m * BM, &smem.full[stage], tile.row_again);
        load_operand(smem.b[stage], map_b, k, tile.at.n * BN, &smem.full[stage], tile.column_again);
        stage = (stage + 1) % STAGES;
        phase ^= stage == 0;
    }
}

// A consumer warpgroup hands a stage back when its wgmmas have read it. One arrival speaks for all
// four warps: a wgmma is one operation of the warpgroup, and wgmma_wait waits for the whole of it.
DEVICE void release_stage(SharedStorage &smem, int stage) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// A consumer warpgroup: multiplies what the ring holds into its rows of the tile.
DEVICE void multiply_tile(float (&acc)[BLOCKS][MMA_N / 2], SharedStorage &smem, int consumer,
                          int k_tiles, int &stage, int &phase) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], phase);
        const uint64_t b = matrix_descriptor(smem.b[stage]);
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            for (int block = 0; block < BLOCKS; ++block) {
                const int row = (consumer * BLOCKS + block) * WM;
                const uint64_t a = matrix_descriptor(&smem.a[stage][row * BK]);
                wgmma<MMA_N>(acc[block], advance_k(a, kk), advance_k(b, kk),
                             k_tile > 0 || kk > 0); // the first one overwrites
            }
        wgmma_commit();
        wgmma_wait<0>(acc);
        release_stage(smem, stage); // the wgmmas have read the stage
        stage = (stage + 1) % STAGES;
        phase ^= stage == 0;
    }
}

// A consumer warpgroup: writes a block of accumulators, transposed, to its staging memory; one of
// its threads then starts the store to D at (row, column). stmatrix takes two 8 x 8 matrices, one
// below the other, and the two to their right; transposed, each two are side by side. Eight lanes
// name the rows of a matrix.
DEVICE void store_tile(SharedStorage &smem, const TensorMap *map_d, const float (&acc)[MMA_N / 2],
                       int consumer, int row, int column) {
    const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;
    const bool leader = threadIdx.x % WARPGROUP_THREADS == 0;
    const int matrix_row = lane / 16 * 8 + lane % 8;
    const int matrix_column = warp * 16 + lane / 8 % 2 * 8;

    if (leader)
        bulk_wait_read<0>(); // the last store has read the staging memory ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
    for (int j = 0; j < BN; j += 16)
        stmatrix_x4_transposed(&smem.d[consumer][swizzle_128b(j + matrix_row, matrix_column)],
                               &acc[j / 2]);
    fence_proxy_async(); // what this thread wrote is seen by TMA ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all wrote
    if (leader) {
        tma_store_2d_hint(map_d, smem.d[consumer], column, row, evict_first_policy());
        bulk_commit();
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const scheduled_tile *order, int tiles, int k) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
    const int warpgroup = warpgroup_index();

    if (threadIdx.x == 0) {
        launch_dependents();
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(&smem.full[stage], 1);
            mbarrier_init(&smem.empty[stage], CONSUMERS);
        }
        mbarrier_init_fence(); // before any thread or copy uses them
    }
    __syncthreads(); // the barriers are ready before anyone arrives on them

    int stage = 0; // of the ring; it continues from tile to tile
    int phase = 0; // the parity of this pass over the ring
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        // Waits for the previous launch, which may still write A or B, or read or write D. The
        // consumers store only what depends on these loads, so they need no wait of their own.
        wait_for_launch_before();
        for (int i = blockIdx.x; threadIdx.x == 0 && i < tiles; i += gridDim.x) {
            const scheduled_tile tile = order[i];
            const bool backwards = i / gridDim.x % 2; // every other tile of this CTA
            load_tile(smem, &map_a, &map_b, tile, ceil_div(k, BK), backwards, stage, phase);
        }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
            const tile_coordinate tile = order[i].at; // read here: multiplying hides the latency
            float acc[BLOCKS][MMA_N / 2];
            multiply_tile(acc, smem, consumer, ceil_div(k, BK), stage, phase);
            for (int block = 0; block < BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, tile.n * BN,
                           tile.m * BM + (consumer * BLOCKS + block) * WM);
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
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
    // The kernel's A is B, and its B is A.
    if (make_tensor_map_2d(&made->map_a, p->b, p->n, p->k, BM, BK) ||
        make_tensor_map_2d(&made->map_b, p->a, p->m, p->k, BN, BK) ||
        make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, BN, WM) ||
        allow_dynamic_smem(gemm, sizeof(SharedStorage)) || multiprocessor_count(&made->ctas))
        return 1;
    const int tiles_m = ceil_div(p->n, BM);
    const int tiles_n = ceil_div(p->m, BN);
    made->tiles = tiles_m * tiles_n;
    made->ctas = balanced_workers(made->tiles, made->ctas);
    made->order = make_order(tiles_m, tiles_n, made->ctas);
    return made->order == nullptr;
}

static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    return launch_early(p->early, gemm, dim3(made->ctas), dim3(THREADS), dim3(1),
                        sizeof(SharedStorage), p->stream, made->map_a, made->map_b, made->map_d,
                        made->order, made->tiles, p->k);
}

static void release(void *state) {
    release_array(static_cast<State *>(state)->order);
    delete static_cast<State *>(state);
}

static const step v19 = {
    .name = "v19",
    .idea = "few rows",
    .below = "v17",
    .computes = GEMM_BF16,
    .launches_early = true,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = 8,
    .multiple_k = 8,
    .tile = {.m = BN, .n = BM, .k = BK, .stages = STAGES, .group = GROUP, .swaps = true},
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&v19, argc, argv); }
