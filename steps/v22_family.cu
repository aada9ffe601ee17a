// v22, from v18: a family of tiles.
//
// v18 has five tiles; cuBLASLt has hundreds, and takes another one for nearly every shape. Here the
// template makes a family: tiles of 64 to 256 rows and 8 to 256 columns; consumers that share a
// tile by rows or by columns, or ping-pong, or one alone; rings as deep as the shared memory;
// clusters that share an operand by multicast, as in v08, which pays where rows are no multiple of
// 128 bytes apart or tiles are small. The model has moved to tile_choice.h. It now knows the GPU's
// L2, its memory and its clusters. Expected: 0.98 of cuBLASLt's best where v18 has 0.92.
#include "step.h"
#include "device/cluster.cuh"
#include "device/dependent_launch.cuh"
#include "device/elect.cuh"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/tile_choice.h"
#include "device/tile_family.cuh"
#include "device/scheduled_tile.h"
#include "device/tile_store.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

#include <math.h>

constexpr int BK = 64;
constexpr int WM = 64; // rows of a wgmma
constexpr int MMA_K = 16;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr int MOST_STAGES = 16;
constexpr int SHARED_BYTES = 227 * 1024 - 2048; // of a CTA, without barriers and alignment
enum { STAGING_BARRIER = 1 };                   // named barriers, one per consumer
constexpr int FORMS = TILE_WHOLE + 1;           // of a kernel
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

// One of the family's tiles; see tile_choice.h for its parameters.
template <int BM_, int BN_, tile_consumers WORK, int ABOVE_, int BESIDE_>
struct SharedStorage {
    static constexpr int BM = BM_;
    static constexpr int BN = BN_;
    static constexpr int ABOVE = ABOVE_;   // tiles of a cluster above one another: they share B
    static constexpr int BESIDE = BESIDE_; // and side by side: they share A
    static constexpr int CTAS = ABOVE * BESIDE;
    static constexpr int LOADERS = ABOVE + BESIDE - 1; // CTAs that load into a CTA's ring
    static constexpr int CONSUMERS = WORK == ALONE ? 1 : 2;
    static constexpr int TURNS = WORK == PING_PONG ? 2 : 1;
    static constexpr int SHARING = CONSUMERS / TURNS;                        // consumers of a tile
    static constexpr int BLOCKS = BM / WM / (WORK == BY_ROWS ? SHARING : 1); // of each of them
    static constexpr int WN = BN / (WORK == BY_COLUMNS ? SHARING : 1);
    using Store = TileStore<WN, false>;
    static constexpr int ROOM = // for stages
        (SHARED_BYTES - CONSUMERS * Store::ELEMENTS * 2) / ((BM + BN) * BK * 2);
    static constexpr int STAGES = ROOM < MOST_STAGES ? ROOM : MOST_STAGES;
    static constexpr int IN_FLIGHT = STAGES > 3 ? 1 : 0; // k-tiles, if the ring can spare a stage
    static constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
    static_assert(STAGES >= 3, "the tile leaves no room for a ring");
    static_assert(BLOCKS >= 1 && BLOCKS * WN / 2 <= (WORK == ALONE ? 176 : 200),
                  "the accumulators spill");
    static_assert(BM % (8 * BESIDE) == 0 && BN % (ABOVE == 1 ? 8 : 8 * ABOVE) == 0,
                  "a box is whole periods of the swizzle");
    // Where a consumer's share of the tile begins.
    static DEVICE int row(int consumer) { return BLOCKS * WM < BM ? consumer * BLOCKS * WM : 0; }
    static DEVICE int column(int consumer) { return WN < BN ? consumer * WN : 0; }
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][Store::ELEMENTS];
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
    uint64_t turn[CONSUMERS]; // completed when the consumer may multiply
};

// The calling CTA's place in its cluster: the row of tiles, and the column.
template <typename Storage>
DEVICE tile_coordinate cluster_place() {
    const int rank = worker_rank<Storage::CTAS>();
    return {rank / Storage::BESIDE, rank % Storage::BESIDE};
}

// The next stage of the ring. Compared, not divided: a remainder is five instructions one after
// the other, which a small tile's k-tiles feel.
template <int STAGES>
DEVICE void next_stage(int &stage, int &phase) {
    stage = stage + 1 < STAGES ? stage + 1 : 0;
    phase ^= stage == 0;
}

// Loads one operand's part of a stage. Of an operand that CTAS share, each loads a part of the rows
// for all: the calling one part `part`, for the CTAs in `mask`. A box wholly outside of the
// matrix, which has `rows` rows, loads the first rows instead: TMA takes cycles for each row that
// it fills with zeros, and these products are not stored. What the next wave reads again stays in
// the L2; the rest is evicted first.
template <int ROWS, int CTAS>
DEVICE void load_operand(bf16 *tile, const TensorMap *map, int k, int row, int rows, int part,
                         int mask, uint64_t *full, bool again) {
    const int first = CTAS > 1 ? part * (ROWS / CTAS) : 0;
    const int from = row + first < rows ? row + first : 0;
    if (CTAS > 1)
        tma_load_2d_multicast(&tile[first * BK], map, k, from, full, mask);
    else if (again)
        tma_load_2d(tile, map, k, from, full);
    else
        tma_load_2d_hint(tile, map, k, from, full, evict_first_policy());
}

// The calling CTA's tile of a cluster's.
template <typename Storage>
DEVICE tile_coordinate own_tile(tile_coordinate tile) {
    const tile_coordinate place = cluster_place<Storage>();
    return {tile.m * Storage::ABOVE + place.m, tile.n * Storage::BESIDE + place.n};
}

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
template <typename Storage>
DEVICE void load_tile(Storage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const scheduled_tile &scheduled, int m, int n, int k_tiles, bool backwards,
                      int &stage, int &phase) {
    constexpr int ABOVE = Storage::ABOVE;
    constexpr int BESIDE = Storage::BESIDE;
    const tile_coordinate place = cluster_place<Storage>();
    const tile_coordinate tile = own_tile<Storage>(scheduled.at);
    const int row_mask = ((1 << BESIDE) - 1) << place.m * BESIDE; // of the CTAs that share A
    const int column_mask = ((1 << ABOVE * BESIDE) - 1) / ((1 << BESIDE) - 1) << place.n;
#pragma unroll 1 // four copies of the loop would each run from a cold instruction cache
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the consumers whose tile it was, the cluster's as well: they have read what
        // this stage held.
        mbarrier_wait(&smem.empty[stage], phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = (backwards ? k_tiles - 1 - k_tile : k_tile) * BK;
        load_operand<Storage::BM, BESIDE>(smem.a[stage], map_a, k, tile.m * smem.BM, m, place.n,
                                          row_mask, &smem.full[stage], scheduled.row_again);
        load_operand<Storage::BN, ABOVE>(smem.b[stage], map_b, k, tile.n * smem.BN, n, place.m,
                                         column_mask, &smem.full[stage], scheduled.column_again);
        next_stage<Storage::STAGES>(stage, phase);
    }
}

// The CTA to which this thread of a consumer warpgroup hands stages back; -1: to none. The first
// threads have one each of those that load into this CTA's ring: those in its row of the cluster,
// itself among them, then the others in its column.
template <typename Storage>
DEVICE int loader_of_thread() {
    const int thread = threadIdx.x % WARPGROUP_THREADS;
    if (thread >= Storage::LOADERS)
        return -1;
    const tile_coordinate place = cluster_place<Storage>();
    const int other = thread - Storage::BESIDE;
    const int rank = thread < Storage::BESIDE
                         ? place.m * Storage::BESIDE + thread
                         : (other + (other >= place.m)) * Storage::BESIDE + place.n;
    return rank;
}

// A consumer warpgroup hands a stage back to every CTA that loads into it, when its wgmmas have
// read it. One arrival speaks for all four warps: a wgmma is one operation of the warpgroup, and
// wgmma_wait waits for the whole of it.
template <typename Storage>
DEVICE void release_stage(Storage &smem, int stage, int loader) {
    if (Storage::CTAS == 1 && threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
    if (Storage::CTAS > 1 && loader >= 0)
        mbarrier_arrive_cluster(&smem.empty[stage], loader);
}

// Skips this many k-tiles of the ring: those of the other consumer's tile.
template <int STAGES>
DEVICE void skip_stages(int k_tiles, int &stage, int &phase) {
    phase ^= (stage + k_tiles) / STAGES % 2;
    stage = (stage + k_tiles) % STAGES;
}

// A consumer warpgroup: multiplies what the ring holds into its blocks of the tile: a share of the
// rows or of the columns, or everything.
template <typename Storage, int BLOCKS, int COUNT>
DEVICE void multiply_tile(float (&acc)[BLOCKS][COUNT], Storage &smem, int consumer, int k_tiles,
                          int &stage, int &phase) {
    constexpr int IN_FLIGHT = Storage::IN_FLIGHT;
    const int first_row = smem.row(consumer);
    const int first_column = smem.column(consumer);
    const int loader = loader_of_thread<Storage>();
    int previous = stage; // the previous k-tile's
#pragma unroll 1
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], phase);
        const uint64_t b = matrix_descriptor(&smem.b[stage][first_column * BK]);
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            for (int block = 0; block < BLOCKS; ++block) {
                const uint64_t a = matrix_descriptor(&smem.a[stage][(first_row + block * WM) * BK]);
                wgmma<Storage::WN>(acc[block], advance_k(a, kk), advance_k(b, kk),
                                   k_tile > 0 || kk > 0); // the first one overwrites
            }
        wgmma_commit();
        wgmma_wait<IN_FLIGHT>(acc); // earlier k-tiles have been read
        if (k_tile >= IN_FLIGHT)
            release_stage(smem, IN_FLIGHT ? previous : stage, loader);
        previous = stage;
        next_stage<Storage::STAGES>(stage, phase);
    }
    // All of this tile's wgmmas are issued: the other consumer may issue its own after them.
    if (Storage::TURNS > 1 && threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.turn[(consumer + 1) % Storage::CONSUMERS]);
    wgmma_wait<0>(acc);
    if (IN_FLIGHT > 0)
        release_stage(smem, previous, loader);
}

// What a launch computes.
struct Work {
    const scheduled_tile *order;
    int tiles;
    int k_tiles;
    int m;
    int n;
    // Each worker's first tile: from memory it would come too late for a small product.
    scheduled_tile first[MOST_WORKERS];
};

template <typename Storage>
__global__ void __launch_bounds__(Storage::THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const __grid_constant__ Work work) {
    constexpr int STAGES = Storage::STAGES;
    constexpr int TURNS = Storage::TURNS;
    constexpr int CONSUMERS = Storage::CONSUMERS;
    constexpr int BLOCKS = Storage::BLOCKS;
    Storage &smem = dynamic_smem<Storage>();
    const int warpgroup = warpgroup_index();

    // Three warps of the producer's warpgroup, so that the launch's start is shorter.
    if (threadIdx.x == 0) {
        launch_dependents();
        for (int stage = 0; stage < STAGES; ++stage)
            mbarrier_init(&smem.full[stage], 1);
        mbarrier_init_fence(); // before any thread or copy uses them
    }
    if (threadIdx.x == WARP_THREADS) {
        for (int stage = 0; stage < STAGES; ++stage)
            mbarrier_init(&smem.empty[stage], Storage::SHARING * Storage::LOADERS);
        for (int consumer = 0; consumer < CONSUMERS; ++consumer)
            mbarrier_init(&smem.turn[consumer], 1);
        mbarrier_init_fence();
    }
    if (threadIdx.x == 2 * WARP_THREADS) {
        tensor_map_prefetch(&map_a);
        tensor_map_prefetch(&map_b);
        tensor_map_prefetch(&map_d);
    }
    // The barriers, the cluster's as well, are ready before anyone arrives on them.
    if (Storage::CTAS > 1)
        cluster_sync_relaxed();
    else
        __syncthreads();

    int stage = 0; // of the ring; it continues from tile to tile
    int phase = 0; // the parity of this pass over the ring
    if (warpgroup == 0) {
        if (CONSUMERS > 1)
            setmaxnreg_dec<PRODUCER_REGISTERS>();
        // Waits for the previous launch, which may still write A or B, or read or write D. The
        // consumers store only what depends on these loads, so they need no wait of their own.
        wait_for_launch_before();
        if (warp_index() == 0 && elect_one()) { // the compiler knows that it is one thread
            scheduled_tile next = work.first[worker_index<Storage::CTAS>()];
            for (int i = worker_index<Storage::CTAS>(), backwards = 0; i < work.tiles;
                 i += worker_count<Storage::CTAS>(), backwards ^= 1) {
                // In registers: after each k-tile's barriers the compiler would read the order
                // again.
                const scheduled_tile tile = next;
                if (i + worker_count<Storage::CTAS>() < work.tiles)
                    next = work.order[i + worker_count<Storage::CTAS>()];
                load_tile(smem, &map_a, &map_b, tile, work.m, work.n, work.k_tiles, backwards,
                          stage, phase);
            }
        }
        return; // here: if its threads went on, the loop's values would not be uniform
    } else {
        if (CONSUMERS > 1)
            setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        const int k_tiles = work.k_tiles;
        int turn = consumer == 0; // the parity to wait for: consumer 0 has the first turn at once
        const int first = consumer % TURNS; // the first of its tiles
        skip_stages<STAGES>(first * k_tiles, stage, phase);
        for (int i = worker_index<Storage::CTAS>() + first * worker_count<Storage::CTAS>();
             i < work.tiles; i += TURNS * worker_count<Storage::CTAS>()) {
            // Waits for the other consumer: before, the parity of `full` may match an older phase.
            if (TURNS > 1) {
                mbarrier_wait(&smem.turn[consumer], turn);
                // All threads have seen it before one of them hands it on and it comes back.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
            }
            turn ^= 1;
            // Read here: multiplying hides the latency.
            const tile_coordinate tile = own_tile<Storage>(work.order[i].at);
            float acc[BLOCKS][Storage::WN / 2];
            multiply_tile(acc, smem, consumer, k_tiles, stage, phase);
            skip_stages<STAGES>((TURNS - 1) * k_tiles, stage, phase);
            // After the CTA's last tile the ring has room for D, if that tile's k-tiles have filled
            // it: then the other consumer has read what it held.
            const bool in_ring =
                TURNS > 1 && k_tiles >= STAGES && i + worker_count<Storage::CTAS>() >= work.tiles;
            for (int block = 0; block < BLOCKS; ++block)
                Storage::Store::store(in_ring ? &smem.a[0][block * WM * Storage::WN]
                                              : smem.d[consumer],
                                      in_ring, STAGING_BARRIER + consumer, &map_d, acc[block],
                                      tile.m * smem.BM + smem.row(consumer) + block * WM,
                                      tile.n * smem.BN + smem.column(consumer), nullptr, 0, 0);
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
        // No CTA leaves while another one may still arrive on its barriers.
        if (Storage::CTAS > 1)
            cluster_sync_relaxed();
    }
}

// One of the kernels, and what the host has to know about it.
struct Kernel {
    void (*run)(TensorMap, TensorMap, TensorMap, Work);
    tile_kernel tile; // for the model
    size_t smem;
    int threads;
    int box_rows;
    int box_columns;
};

template <int BM, int BN, tile_consumers WORK, int ABOVE, int BESIDE>
constexpr Kernel make_kernel() {
    using Storage = SharedStorage<BM, BN, WORK, ABOVE, BESIDE>;
    return {gemm<Storage>,
            {BM, BN, Storage::CONSUMERS, Storage::TURNS, WORK == BY_COLUMNS, Storage::STAGES, ABOVE,
             BESIDE, false},
            sizeof(Storage),
            Storage::THREADS,
            Storage::Store::BOX_ROWS,
            Storage::Store::BOX_COLUMNS};
}

#define KERNEL(bm, bn, work, above, beside) make_kernel<bm, bn, work, above, beside>(),
static const Kernel KERNELS[] = {TILE_FAMILY(KERNEL)};
constexpr int KERNEL_COUNT = sizeof KERNELS / sizeof *KERNELS;

struct State {
    const Kernel *kernel;
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    Work work;
    scheduled_tile *order; // of tiles or clusters, in device memory
    int ctas;              // at most one per SM: the fewest that finish in the same number of waves
};

// What the model has to know of the GPU.
static int query_gpu(tile_gpu *gpu) {
    int l2;
    const Kernel &kernel = KERNELS[0]; // each has an SM for itself
    if (l2_size(&l2) || clock_and_memory(&gpu->hertz, &gpu->dram_bytes) ||
        allow_dynamic_smem(kernel.run, kernel.smem) ||
        resident_clusters(gpu->clusters, TILE_MOST_CLUSTER, kernel.run, kernel.threads,
                          kernel.smem))
        return 1;
    gpu->clusters[1] = gpu->clusters[1] < MOST_WORKERS ? gpu->clusters[1] : MOST_WORKERS;
    gpu->l2_bytes = l2;
    return 0;
}

// The model's plans for a product, at most `wanted`, the fastest first; only those of the kernel
// that the problem names, if it names one. 0 after printing a line: the GPU can't be asked, or it
// holds no cluster of that kernel.
static int make_plans(tile_plan *plans, int wanted, const problem *p, tile_gpu *gpu) {
    tile_kernel tiles[KERNEL_COUNT];
    const tile_shape shape = {p->m, p->n, p->k};
    for (int i = 0; i < KERNEL_COUNT; ++i)
        tiles[i] = KERNELS[i].tile;
    if (query_gpu(gpu))
        return 0;
    return tile_choose(plans, wanted, tiles, KERNEL_COUNT, FORMS, p->kernel, &shape, gpu,
                       &TILE_CONSTANTS);
}

static step_tile tile_of(int kernel) {
    return tile_of_record(&KERNELS[kernel / FORMS].tile, tile_form(kernel % FORMS));
}

static int kernel_of(const problem *p) {
    tile_gpu gpu;
    tile_plan plan;
    return make_plans(&plan, 1, p, &gpu) ? plan.number - 1 : -1;
}

static int explain(const problem *p) {
    tile_gpu gpu;
    tile_kernel tiles[KERNEL_COUNT];
    tile_plan plans[5];
    const int count = make_plans(plans, 5, p, &gpu);
    for (int i = 0; i < KERNEL_COUNT; ++i)
        tiles[i] = KERNELS[i].tile;
    tile_explain(stdout, plans, count, tiles, &gpu);
    return count == 0;
}

// Makes the schedule in device memory: the tiles of D, `group` rows of tiles after another. With
// `hints` a tile is marked with what the next wave reads again; without, everything stays.
static int make_order(State *made, int tiles_m, int tiles_n, int group, int workers, bool hints) {
    Work *work = &made->work;
    const int tiles = work->tiles = tiles_m * tiles_n;
    scheduled_tile *order = new scheduled_tile[tiles];
    for (int i = 0; i < tiles; ++i)
        order[i] = {grouped_tile(i, tiles_m, tiles_n, group), true, true};
    if (hints)
        mark_reuse(order, tiles, workers);
    work->order = made->order = upload_array(order, tiles);
    for (int worker = 0; worker < workers && worker < tiles; ++worker)
        work->first[worker] = order[worker];
    delete[] order;
    return made->order == nullptr;
}

static int prepare(const problem *p, void **state) {
    State *made = new State{};
    tile_plan plan;
    tile_gpu gpu;
    *state = made;
    if (make_plans(&plan, 1, p, &gpu) == 0)
        return 1;
    made->kernel = &KERNELS[plan.kernel];
    const tile_kernel *tile = &made->kernel->tile;
    const int box_columns = made->kernel->box_columns;
    const int box_a = tile->rows / tile->beside;
    const int box_b = tile->columns / tile->above;
    const bool fits_l2 = (double(p->m) + p->n) * p->k * sizeof(bf16) <= gpu.l2_bytes;
    // The next 128 bytes of a row are the next k-tile's: DRAM delivers both at once. Not where the
    // L2 doesn't hold A and B: in trials v16 was slower so at 8192 cubed. A k-tile of rows that are
    // no multiple of 128 bytes apart begins anywhere; whole lines would be fetched twice.
    const auto promotion = p->k % BK == 0 && fits_l2 ? PROMOTED_256B : l2_promotion<bf16>();
    if (make_tensor_map_2d(&made->map_a, p->a, p->m, p->k, box_a, BK, SWIZZLED_128B, promotion) ||
        make_tensor_map_2d(&made->map_b, p->b, p->n, p->k, box_b, BK, SWIZZLED_128B, promotion) ||
        make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, made->kernel->box_rows, box_columns,
                           swizzle_of_rows(box_columns * int(sizeof(bf16)))) ||
        allow_dynamic_smem(made->kernel->run, made->kernel->smem))
        return 1;
    const int tiles_m = ceil_div(p->m, tile_step_m(tile)); // of tiles or clusters
    const int tiles_n = ceil_div(p->n, tile_step_n(tile));
    const tile_shape shape = {p->m, p->n, p->k};
    made->work.k_tiles = ceil_div(p->k, BK);
    made->work.m = p->m;
    made->work.n = p->n;
    made->ctas = plan.workers * tile_cluster(tile);
    // Of a single wave nothing is read again by the next, but its CTAs share rows.
    const bool hints = !fits_l2 && plan.tiles > plan.workers;
    const int group = tile_group(tile, &shape, &plan);
    return make_order(made, tiles_m, tiles_n, group, plan.workers, hints);
}

static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    const Kernel *kernel = made->kernel;
    return launch_early(p->early, kernel->run, dim3(made->ctas), dim3(kernel->threads),
                        dim3(tile_cluster(&kernel->tile)), kernel->smem, p->stream, made->map_a,
                        made->map_b, made->map_d, made->work);
}

static void release(void *state) {
    release_array(static_cast<State *>(state)->order);
    delete static_cast<State *>(state);
}

static const step v22 = {
    .name = "v22",
    .idea = "a family of tiles",
    .below = "v18",
    .computes = GEMM_BF16,
    .launches_early = true,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = 8,
    .multiple_k = 8,
    .kernels = KERNEL_COUNT,
    .tile_of = tile_of,
    .kernel_of = kernel_of,
    .explain = explain,
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&v22, argc, argv); }
