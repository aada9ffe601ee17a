// v21: rows of any length.
//
// TMA takes matrices whose rows are a multiple of 16 bytes: 8 bf16. Other rungs reject the rest.
// Here another kernel first copies A and B to a workspace in which rows are padded with zeros. That
// costs three times the operands' traffic, and it is part of the launch; the product then runs as
// before, and begins early. Rows of D that TMA can't store leave the staging memory through
// ordinary stores. Expected: 3x over cuBLAS where k is odd, because its kernels without TMA are
// slow.
#include "step.h"
#include "device/dependent_launch.cuh"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/partial_sums.cuh"
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
constexpr int SUMS = BLOCKS * WM * BN / 4;  // of a consumer, in float4s
constexpr int CUT_COST = 4;                 // k-tiles: what writing and adding sums takes
constexpr int ROW_MULTIPLE = 8;             // bf16 in 16 bytes: TMA takes rows of such a multiple
constexpr int PAD_WARPS = 8;                // a row each
constexpr int PAD_LOADS = 8;                // of a lane at a time
constexpr int PAD_COLUMNS = PAD_LOADS * WARP_THREADS; // of a warp at a time
constexpr int PAD_SPLIT = 16;                         // warps share a long row, at most
enum { STAGING_BARRIER = 1 };                         // named barriers, one per consumer
static_assert(WM == SWIZZLE_COLUMNS, "a block's columns of D are one row of the swizzle");
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][BN * WM]; // transposed
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
    bool is_last[CONSUMERS]; // the consumer's part is the last of its tile to arrive
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

// The producer, one thread: loads a part's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const scheduled_part &part, bool backwards, int &stage, int &phase) {
    const scheduled_tile &tile = part.tile;
    for (int k_tile = 0; k_tile < part.k_tiles; ++k_tile) {
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = (part.first_k_tile + (backwards ? part.k_tiles - 1 - k_tile : k_tile)) * BK;
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
// name the rows of a matrix. If TMA can't store D, d, of m x n, is not null.
DEVICE void store_tile(SharedStorage &smem, const TensorMap *map_d, const float (&acc)[MMA_N / 2],
                       int consumer, int row, int column, bf16 *d, int m, int n) {
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
    if (d != nullptr) {
        // No fence: the next tile is staged after another barrier.
        for (int j = warp; j < BN && row + j < m; j += WARPGROUP_THREADS / WARP_THREADS)
            for (int i = lane; i < WM && column + i < n; i += WARP_THREADS)
                d[size_t(row + j) * n + column + i] = smem.d[consumer][swizzle_128b(j, i)];
    } else if (leader) {
        tma_store_2d_hint(map_d, smem.d[consumer], column, row, evict_first_policy());
        bulk_commit();
    }
}

// A consumer warpgroup: publishes its sums of one part of a tile. True if all other parts have
// arrived; then acc becomes the sums of the whole tile.
DEVICE bool add_parts(SharedStorage &smem, float (&acc)[BLOCKS][MMA_N / 2],
                      const scheduled_part &part, int consumer, float4 *sums, int *arrived) {
    write_sums(&sums[(part.number * CONSUMERS + consumer) * SUMS], acc);
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // all sums are written ...
    const int first = part.first_part * CONSUMERS + consumer;
    if (threadIdx.x % WARPGROUP_THREADS == 0) {
        smem.is_last[consumer] = count_arrival(&arrived[first]) == part.parts - 1;
        if (smem.is_last[consumer])
            arrived[first] = 0; // for the next launch
    }
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
    if (smem.is_last[consumer])
        add_sums(acc, &sums[first * SUMS], part.parts, CONSUMERS * SUMS);
    return smem.is_last[consumer];
}

// Copies the rows of A and then those of B, k columns each, to rows of `pitch` columns; zeros
// follow.
__global__ void __launch_bounds__(PAD_WARPS *WARP_THREADS)
    pad_rows(bf16 *padded, const bf16 *a, const bf16 *b, int m, int n, int k, int pitch) {
    launch_dependents();
    wait_for_launch_before(); // it may still read what this launch overwrites, or write A or B
    const int lane = threadIdx.x % WARP_THREADS;
    const int row = blockIdx.x * PAD_WARPS + warp_index();
    const bf16 *from = row < m ? a + size_t(row) * k : b + size_t(row - m) * k;
    for (int i = blockIdx.y * PAD_COLUMNS + lane; row < m + n && i < pitch;
         i += gridDim.y * PAD_COLUMNS) {
        bf16 values[PAD_LOADS]; // all loads are in flight before the first store
        for (int j = 0; j < PAD_LOADS; ++j)
            values[j] = i + j * WARP_THREADS < k ? from[i + j * WARP_THREADS] : bf16(0);
        for (int j = 0; j < PAD_LOADS && i + j * WARP_THREADS < pitch; ++j)
            padded[size_t(row) * pitch + i + j * WARP_THREADS] = values[j];
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const scheduled_part *order, int tiles,
         float4 *sums, int *arrived, bf16 *d, int m, int n) {
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
            // A copy in registers: after each k-tile's barriers the compiler would read it again.
            const scheduled_part part = order[i];
            const bool backwards = i / gridDim.x % 2; // every other tile of this CTA
            load_tile(smem, &map_a, &map_b, part, backwards, stage, phase);
        }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
            const scheduled_part part = order[i]; // read here: multiplying hides the latency
            const tile_coordinate tile = part.tile.at;
            if (part.k_tiles == 0)
                continue;
            float acc[BLOCKS][MMA_N / 2];
            multiply_tile(acc, smem, consumer, part.k_tiles, stage, phase);
            if (part.parts > 1 && !add_parts(smem, acc, part, consumer, sums, arrived))
                continue;
            for (int block = 0; block < BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, tile.n * BN,
                           tile.m * BM + (consumer * BLOCKS + block) * WM, d, m, n);
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    scheduled_part *order; // of tiles, and of parts of the last ones, in device memory
    int tiles;
    int ctas;     // at most one per SM
    float4 *sums; // the workspace: of all parts
    int *arrived; // [parts][CONSUMERS], zero between launches
    bf16 *padded; // A's rows and B's, with a pitch that TMA takes; nullptr if theirs is one
    int pitch;
    bf16 *d; // nullptr if TMA can store D's rows
};

// Makes the schedule and the workspace in device memory. If cutting the last wave saves less than
// it costs, as few CTAs as finish in the same number of waves compute whole tiles.
static int make_order(State *made, int tiles_m, int tiles_n, int k_tiles, cudaStream_t stream) {
    const int tiles = tiles_m * tiles_n;
    const int idle = ceil_div(tiles, made->ctas) * made->ctas - tiles; // CTAs in the last wave
    const bool cut = (long long)idle * k_tiles > CUT_COST * made->ctas;
    made->ctas = cut ? made->ctas : balanced_workers(tiles, made->ctas);
    scheduled_tile *order = new scheduled_tile[tiles];
    scheduled_part *work = new scheduled_part[tiles + 2 * made->ctas];
    for (int i = 0; i < tiles; ++i)
        order[i].at = grouped_tile(i, tiles_m, tiles_n, GROUP);
    mark_reuse(order, tiles, made->ctas);
    const int parts = schedule_parts(work, &made->tiles, order, tiles, k_tiles, made->ctas, cut);
    made->order = upload_array(work, made->tiles);
    delete[] order;
    delete[] work;
    return made->order == nullptr ||
           make_zeros(&made->sums, size_t(parts) * CONSUMERS * SUMS, stream) ||
           make_zeros(&made->arrived, parts * CONSUMERS, stream);
}

static int prepare(const problem *p, void **state) {
    State *made = new State{};
    *state = made;
    made->pitch = ceil_div(p->k, ROW_MULTIPLE) * ROW_MULTIPLE;
    if (made->pitch > p->k &&
        make_zeros(&made->padded, (size_t(p->m) + p->n) * made->pitch, p->stream))
        return 1;
    const void *a = made->padded ? made->padded : p->a;
    const void *b = made->padded ? made->padded + size_t(p->m) * made->pitch : p->b;
    made->d = p->n % ROW_MULTIPLE ? static_cast<bf16 *>(p->d) : nullptr;
    // The kernel's A is B, and its B is A.
    if (make_tensor_map_2d(&made->map_a, b, p->n, made->pitch, BM, BK) ||
        make_tensor_map_2d(&made->map_b, a, p->m, made->pitch, BN, BK) ||
        (!made->d && make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, BN, WM)) ||
        allow_dynamic_smem(gemm, sizeof(SharedStorage)) || multiprocessor_count(&made->ctas))
        return 1;
    const int tiles_m = ceil_div(p->n, BM);
    const int tiles_n = ceil_div(p->m, BN);
    return make_order(made, tiles_m, tiles_n, ceil_div(p->k, BK), p->stream);
}

static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    const int split = ceil_div(p->k, PAD_COLUMNS);
    const dim3 pads(ceil_div(p->m + p->n, PAD_WARPS), split < PAD_SPLIT ? split : PAD_SPLIT);
    if (made->padded &&
        launch_early(p->early, pad_rows, pads, dim3(PAD_WARPS * WARP_THREADS), dim3(1), 0,
                     p->stream, made->padded, p->a, p->b, p->m, p->n, p->k, made->pitch))
        return 1;
    // After pad_rows early in any case: it waits for pad_rows, which has waited for what was
    // before.
    return launch_early(p->early || made->padded, gemm, dim3(made->ctas), dim3(THREADS), dim3(1),
                        sizeof(SharedStorage), p->stream, made->map_a, made->map_b, made->map_d,
                        made->order, made->tiles, made->sums, made->arrived, made->d, p->m, p->n);
}

static void release(void *state) {
    const State *made = static_cast<const State *>(state);
    release_array(made->order);
    release_array(made->sums);
    release_array(made->arrived);
    release_array(made->padded);
    delete made;
}

static const step v21 = {
    .name = "v21",
    .idea = "rows of any length",
    .computes = GEMM_BF16,
    .launches_early = true,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = 1,
    .multiple_k = 1,
    .any_row = true,
    .tile =
        {.m = BN, .n = BM, .k = BK, .stages = STAGES, .group = GROUP, .swaps = true, .cuts = true},
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&v21, argc, argv); }
