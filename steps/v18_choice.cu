// v18: the tile fits the product.
//
// No tile suits all shapes. The tile's size, and whether the consumers share a tile or ping-pong,
// become parameters of the kernel. A model of a few lines chooses among five kernels: waves of
// tiles times cycles per tile, with a price on bytes per FLOP, because moving them lowers the
// clock. It takes narrow tiles for small products, so that more SMs work; ping-pong for short k;
// and for long k 256 x 200 or 128 x 256, whichever fills the waves. The height of a group makes a
// wave about square. L2 hints are given only where A and B don't fit in the L2. Where the ring has
// room, a k-tile's wgmmas stay in flight; DRAM is read 256 bytes at a time. Expected: no gain where
// a rung below has the right tile, 2x at 1024.
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

#include <math.h>

constexpr int BK = 64;
constexpr int CONSUMERS = 2;
constexpr int WM = 64; // rows of a wgmma
constexpr int MMA_K = 16;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
enum { STAGING_BARRIER = 1 }; // named barriers, one per consumer
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

// A tile, the ring's depth, and how many tiles a CTA works on at a time: with 1 the consumers share
// a tile, half of its rows each; with 2 they ping-pong, a tile each. Rows of the staging memory
// that are an odd number of 16-byte chunks need no swizzle.
template <int BM_, int BN_, int STAGES_, int TURNS_>
struct SharedStorage {
    static constexpr int BM = BM_;
    static constexpr int BN = BN_;
    static constexpr int STAGES = STAGES_;
    static constexpr int TURNS = TURNS_;
    static constexpr int IN_FLIGHT = STAGES > 3 ? 1 : 0; // k-tiles, if the ring can spare a stage
    static constexpr int BLOCKS = BM / WM / CONSUMERS * TURNS; // of WM rows, of each consumer
    static constexpr bool SWIZZLED = BN % SWIZZLE_COLUMNS == 0;
    static constexpr int BOX_COLUMNS = SWIZZLED ? SWIZZLE_COLUMNS : BN; // of a store
    static constexpr int STAGING_COLUMNS = BOX_COLUMNS * (BN % (2 * BOX_COLUMNS) ? 1 : 2);
    static_assert(SWIZZLED || BN / 8 % 2 == 1, "rows would meet in the same banks");
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][WM * STAGING_COLUMNS];
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
    uint64_t turn[CONSUMERS]; // completed when the consumer may multiply
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
template <typename Storage>
DEVICE void load_tile(Storage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const scheduled_tile &tile, int k_tiles, bool backwards, int &stage,
                      int &phase) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the consumers whose tile it was: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = (backwards ? k_tiles - 1 - k_tile : k_tile) * BK;
        load_operand(smem.a[stage], map_a, k, tile.at.m * smem.BM, &smem.full[stage],
                     tile.row_again);
        load_operand(smem.b[stage], map_b, k, tile.at.n * smem.BN, &smem.full[stage],
                     tile.column_again);
        stage = (stage + 1) % smem.STAGES;
        phase ^= stage == 0;
    }
}

// A consumer warpgroup hands a stage back when its wgmmas have read it. One arrival speaks for all
// four warps: a wgmma is one operation of the warpgroup, and wgmma_wait waits for the whole of it.
template <typename Storage>
DEVICE void release_stage(Storage &smem, int stage) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// Skips this many k-tiles of the ring: those of the other consumer's tile.
template <int STAGES>
DEVICE void skip_stages(int k_tiles, int &stage, int &phase) {
    phase ^= (stage + k_tiles) / STAGES % 2;
    stage = (stage + k_tiles) % STAGES;
}

// A consumer warpgroup: multiplies what the ring holds into its blocks of rows of the tile: all
// blocks of the tile if the consumers ping-pong.
template <typename Storage, int BLOCKS, int COUNT>
DEVICE void multiply_tile(float (&acc)[BLOCKS][COUNT], Storage &smem, int consumer, int k_tiles,
                          int &stage, int &phase) {
    constexpr int IN_FLIGHT = Storage::IN_FLIGHT;
    const int first_block = consumer / Storage::TURNS * BLOCKS;
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], phase);
        const uint64_t b = matrix_descriptor(smem.b[stage]);
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            for (int block = 0; block < BLOCKS; ++block) {
                const uint64_t a =
                    matrix_descriptor(&smem.a[stage][(first_block + block) * WM * BK]);
                wgmma<Storage::BN>(acc[block], advance_k(a, kk), advance_k(b, kk),
                                   k_tile > 0 || kk > 0); // the first one overwrites
            }
        wgmma_commit();
        wgmma_wait<IN_FLIGHT>(acc); // earlier k-tiles have been read
        if (k_tile >= IN_FLIGHT)
            release_stage(smem, IN_FLIGHT ? (stage + smem.STAGES - 1) % smem.STAGES : stage);
        stage = (stage + 1) % smem.STAGES;
        phase ^= stage == 0;
    }
    // All of this tile's wgmmas are issued: the other consumer may issue its own after them.
    if (Storage::TURNS > 1 && threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.turn[(consumer + 1) % CONSUMERS]);
    wgmma_wait<0>(acc);
    if (IN_FLIGHT > 0)
        release_stage(smem, (stage + smem.STAGES - 1) % smem.STAGES);
}

// The place of a block's (row, column), the first of a chunk, in the staging memory.
template <typename Storage>
DEVICE bf16 *staged(Storage &smem, int consumer, int row, int column) {
    const int slice = column / SWIZZLE_COLUMNS * (WM * SWIZZLE_COLUMNS);
    return &smem.d[consumer][Storage::SWIZZLED ? slice + swizzle_128b(row, column % SWIZZLE_COLUMNS)
                                               : row * Storage::BN + column];
}

// A consumer warpgroup: writes a block of accumulators to its staging memory, a piece of columns at
// a time; one of its threads then starts the store to D at (row, column). stmatrix takes two 8 x 8
// matrices, one below the other, and the two to their right: the first 16 lanes name the rows of
// the left pair, the others those of the right.
template <typename Storage, int COUNT>
DEVICE void store_tile(Storage &smem, const TensorMap *map_d, const float (&acc)[COUNT],
                       int consumer, int row, int column) {
    constexpr int STAGING_COLUMNS = Storage::STAGING_COLUMNS;
    const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;
    const bool leader = threadIdx.x % WARPGROUP_THREADS == 0;
    const int matrix_row = warp * 16 + lane % 16;
    const int matrix_column = lane / 16 * 8;

    for (int piece = 0; piece < Storage::BN; piece += STAGING_COLUMNS) {
        if (leader)
            bulk_wait_read<0>(); // the last store has read the staging memory ...
        named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
        for (int j = 0; j + 16 <= STAGING_COLUMNS; j += 16)
            stmatrix_x4(staged(smem, consumer, matrix_row, j + matrix_column),
                        &acc[(piece + j) / 2]);
        if (STAGING_COLUMNS % 16 > 0) // 8 columns are left
            stmatrix_x2(staged(smem, consumer, matrix_row, STAGING_COLUMNS - 8), &acc[COUNT - 4]);
        fence_proxy_async(); // what this thread wrote is seen by TMA ...
        named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all wrote
        if (leader) {
            for (int j = 0; j < STAGING_COLUMNS; j += Storage::BOX_COLUMNS)
                tma_store_2d_hint(map_d, &smem.d[consumer][j * WM], column + piece + j, row,
                                  evict_first_policy());
            bulk_commit();
        }
    }
}

template <typename Storage>
__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const scheduled_tile *order, int tiles, int k) {
    constexpr int STAGES = Storage::STAGES;
    constexpr int TURNS = Storage::TURNS;
    constexpr int BLOCKS = Storage::BLOCKS;
    constexpr int BN = Storage::BN;
    Storage &smem = dynamic_smem<Storage>();
    const int warpgroup = warpgroup_index();

    if (threadIdx.x == 0) {
        launch_dependents();
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(&smem.full[stage], 1);
            mbarrier_init(&smem.empty[stage], CONSUMERS / TURNS);
        }
        for (int consumer = 0; consumer < CONSUMERS; ++consumer)
            mbarrier_init(&smem.turn[consumer], 1);
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
        const int k_tiles = ceil_div(k, BK);
        int turn = consumer == 0; // the parity to wait for: consumer 0 has the first turn at once
        const int first = consumer % TURNS; // the first of its tiles
        skip_stages<STAGES>(first * k_tiles, stage, phase);
        for (int i = blockIdx.x + first * gridDim.x; i < tiles; i += TURNS * gridDim.x) {
            // Waits for the other consumer: before, the parity of `full` may match an older phase.
            if (TURNS > 1) {
                mbarrier_wait(&smem.turn[consumer], turn);
                // All threads have seen it before one of them hands it on and it comes back.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
            }
            turn ^= 1;
            const tile_coordinate tile = order[i].at; // read here: multiplying hides the latency
            float acc[BLOCKS][BN / 2];
            multiply_tile(acc, smem, consumer, k_tiles, stage, phase);
            skip_stages<STAGES>((TURNS - 1) * k_tiles, stage, phase);
            for (int block = 0; block < BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer,
                           tile.m * smem.BM + (consumer / TURNS * BLOCKS + block) * WM,
                           tile.n * BN);
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

// One of the kernels, and what the host has to know about it.
struct Kernel {
    void (*run)(TensorMap, TensorMap, TensorMap, const scheduled_tile *, int, int);
    size_t smem;
    int bm;
    int bn;
    int stages;
    int turns;
    int blocks;      // of WM rows that a consumer stores, one after the other ...
    int box_columns; // ... in boxes of this many columns
};

template <int BM, int BN, int STAGES, int TURNS>
constexpr Kernel make_kernel() {
    using Storage = SharedStorage<BM, BN, STAGES, TURNS>;
    return {gemm<Storage>,   sizeof(Storage),     BM, BN, STAGES, TURNS,
            Storage::BLOCKS, Storage::BOX_COLUMNS};
}

static const Kernel KERNELS[] = {make_kernel<256, 200, 3, 1>(), make_kernel<128, 256, 4, 1>(),
                                 make_kernel<128, 200, 4, 2>(), make_kernel<128, 128, 6, 2>(),
                                 make_kernel<128, 64, 8, 1>()};

// The model: the cycles that a kernel takes for a product, with a price on the bytes it moves.
constexpr double FLOP_PER_CYCLE = 4096;       // of an SM's tensor cores
constexpr double BYTES_PER_CYCLE = 60;        // from the L2 to an SM
constexpr double DRAM_BYTES_PER_CYCLE = 2200; // from DRAM to all SMs
constexpr double START_CYCLES = 5000;         // of an early launch, until the first load has landed
constexpr double END_CYCLES = 8;              // for each column of a block, from accumulators to D
constexpr double PRICE_OF_BYTES = 0.1;        // an exponent: how much the clock falls as they rise

static double cost(const Kernel &kernel, const problem *p, int sms) {
    const int waves = ceil_div(ceil_div(p->m, kernel.bm) * ceil_div(p->n, kernel.bn), sms);
    const double flop = 2.0 * kernel.bm * kernel.bn * BK;
    const double bytes = 2.0 * (kernel.bm + kernel.bn) * BK;
    const double k_tile = fmax(flop / FLOP_PER_CYCLE, bytes / BYTES_PER_CYCLE);
    const double multiply = ceil_div(p->k, BK) * k_tile;
    // In ping-pong the end of a tile overlaps with the multiplication of the next one, as far as
    // that lasts, and takes longer.
    const double end = END_CYCLES * kernel.bn * kernel.blocks * kernel.turns;
    const double tile = kernel.turns == 1 ? multiply + end : fmax(multiply, (multiply + end) / 2);
    const double last = kernel.turns == 1 ? 0 : end;
    const double matrices = 2.0 * (double(p->m) * p->k + double(p->n) * p->k + double(p->m) * p->n);
    const double cycles = fmax(START_CYCLES + waves * tile + last, matrices / DRAM_BYTES_PER_CYCLE);
    return cycles * pow(bytes / flop, PRICE_OF_BYTES);
}

static const Kernel *choose(const problem *p, int sms) {
    if (p->kernel > 0)
        return &KERNELS[p->kernel - 1];
    const Kernel *best = &KERNELS[0];
    for (const Kernel &kernel : KERNELS)
        if (cost(kernel, p, sms) < cost(*best, p, sms))
            best = &kernel;
    return best;
}

static step_tile tile_of(int kernel) {
    const Kernel &its = KERNELS[kernel];
    return {.m = its.bm, .n = its.bn, .k = BK, .stages = its.stages, .ping_pong = its.turns > 1};
}

static int kernel_of(const problem *p) {
    int sms;
    return multiprocessor_count(&sms) ? -1 : int(choose(p, sms) - KERNELS);
}

static int explain(const problem *p) {
    int sms;
    if (multiprocessor_count(&sms))
        return 1;
    for (const Kernel &kernel : KERNELS)
        printf("%c kernel %d, %d x %d, %s: %.0f\n", &kernel == choose(p, sms) ? '*' : ' ',
               int(&kernel - KERNELS) + 1, kernel.bm, kernel.bn,
               kernel.turns > 1 ? "ping-pong" : "cooperative", cost(kernel, p, sms));
    return 0;
}

struct State {
    const Kernel *kernel;
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    scheduled_tile *order; // of tiles, in device memory
    int tiles;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves
};

// The tiles of D in the order of the schedule, in device memory; nullptr if that fails. A tile is
// `shape` times as wide as high; the group's rows, in steps of 4, make a wave about square. With
// `hints` a tile is marked with what the next wave reads again; without, everything stays.
static scheduled_tile *make_order(int tiles_m, int tiles_n, double shape, int ctas, bool hints) {
    const int tiles = tiles_m * tiles_n;
    const int group = int(sqrt(ctas * shape)) / 4 * 4; // rows of tiles
    scheduled_tile *order = new scheduled_tile[tiles];
    for (int i = 0; i < tiles; ++i)
        order[i] = {grouped_tile(i, tiles_m, tiles_n, group > 0 ? group : 1), true, true};
    if (hints)
        mark_reuse(order, tiles, ctas);
    scheduled_tile *uploaded = upload_array(order, tiles);
    delete[] order;
    return uploaded;
}

static int prepare(const problem *p, void **state) {
    State *made = new State{};
    *state = made;
    int l2 = 0;
    if (multiprocessor_count(&made->ctas) || l2_size(&l2))
        return 1;
    made->kernel = choose(p, made->ctas);
    const int bm = made->kernel->bm;
    const int bn = made->kernel->bn;
    // The next 128 bytes of a row are the next k-tile's: DRAM delivers both at once.
    if (make_tensor_map_2d(&made->map_a, p->a, p->m, p->k, bm, BK, SWIZZLED_128B, PROMOTED_256B) ||
        make_tensor_map_2d(&made->map_b, p->b, p->n, p->k, bn, BK, SWIZZLED_128B, PROMOTED_256B) ||
        make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, WM, made->kernel->box_columns,
                           made->kernel->box_columns == SWIZZLE_COLUMNS ? SWIZZLED_128B
                                                                        : UNSWIZZLED) ||
        allow_dynamic_smem(made->kernel->run, made->kernel->smem))
        return 1;
    const int tiles_m = ceil_div(p->m, bm);
    const int tiles_n = ceil_div(p->n, bn);
    made->tiles = tiles_m * tiles_n;
    made->ctas = balanced_workers(made->tiles, made->ctas);
    const bool hints = (double(p->m) + p->n) * p->k * sizeof(bf16) > l2;
    made->order = make_order(tiles_m, tiles_n, double(bn) / bm, made->ctas, hints);
    return made->order == nullptr;
}

static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    return launch_early(p->early, made->kernel->run, dim3(made->ctas), dim3(THREADS), dim3(1),
                        made->kernel->smem, p->stream, made->map_a, made->map_b, made->map_d,
                        made->order, made->tiles, p->k);
}

static void release(void *state) {
    release_array(static_cast<State *>(state)->order);
    delete static_cast<State *>(state);
}

static const step v18 = {
    .name = "v18",
    .idea = "the tile fits the product",
    .computes = GEMM_BF16,
    .launches_early = true,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = 8,
    .multiple_k = 8,
    .kernels = sizeof(KERNELS) / sizeof(*KERNELS),
    .tile_of = tile_of,
    .kernel_of = kernel_of,
    .explain = explain,
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&v18, argc, argv); }
