// v23: any shape.
//
// The family of v22 with all that v19, v20 and v21 have shown: A and B exchanged for few rows, a
// last wave that is cut along k, rows of any length. A tile of few rows and a cut are further
// candidates, and the model knows what each costs: sums to and from the workspace, bytes of a copy.
// `make step N=23 ARGS="--explain"` prints the best five. Small tiles wait for their producer, so
// it reads the order once a tile, not once a k-tile. Expected: at least cuBLASLt's best for most
// shapes.
#include "step.h"
#include "device/cluster.cuh"
#include "device/dependent_launch.cuh"
#include "device/elect.cuh"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/partial_sums.cuh"
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
constexpr int ROW_MULTIPLE = 8; // bf16 in 16 bytes: TMA takes rows of such a multiple
constexpr int PAD_WARPS = 8;    // a row each
constexpr int PAD_LOADS = 8;    // of a lane at a time
constexpr int PAD_COLUMNS = PAD_LOADS * WARP_THREADS; // of a warp at a time
constexpr int PAD_SPLIT = 16;                         // warps share a long row, at most
constexpr int MOST_STAGES = 16;
constexpr int SHARED_BYTES = 227 * 1024 - 2048; // of a CTA, without barriers and alignment
enum { STAGING_BARRIER = 1 };                   // named barriers, one per consumer
constexpr int FORMS = TILE_CUT + 1;             // of a kernel
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

// One of the family's tiles; see tile_choice.h for its parameters.
template <int BM_, int BN_, tile_consumers WORK, int ABOVE_, int BESIDE_, bool SWAPPED_>
struct SharedStorage {
    static constexpr int BM = BM_;
    static constexpr int BN = BN_;
    static constexpr bool SWAPPED = SWAPPED_;
    static constexpr int ABOVE = ABOVE_;   // tiles of a cluster above one another: they share B
    static constexpr int BESIDE = BESIDE_; // and side by side: they share A
    static constexpr int CTAS = ABOVE * BESIDE;
    static constexpr int LOADERS = ABOVE + BESIDE - 1; // CTAs that load into a CTA's ring
    static constexpr int CONSUMERS = WORK == ALONE ? 1 : 2;
    static constexpr int TURNS = WORK == PING_PONG ? 2 : 1;
    static constexpr int SHARING = CONSUMERS / TURNS;                        // consumers of a tile
    static constexpr int BLOCKS = BM / WM / (WORK == BY_ROWS ? SHARING : 1); // of each of them
    static constexpr int WN = BN / (WORK == BY_COLUMNS ? SHARING : 1);
    static constexpr int SUMS = BLOCKS * WM * WN / 4; // of a consumer, in float4s
    using Store = TileStore<WN, SWAPPED_>;
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
    bool is_last[CONSUMERS];  // the consumer's part is the last of its tile to arrive
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

// The producer, one thread: loads a part's operands into the ring, up to STAGES k-tiles ahead.
template <typename Storage>
DEVICE void load_tile(Storage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const scheduled_loads &part, int rows, int columns, bool backwards,
                      int &stage, int &phase) {
    constexpr int ABOVE = Storage::ABOVE;
    constexpr int BESIDE = Storage::BESIDE;
    const tile_coordinate place = cluster_place<Storage>();
    const tile_coordinate tile = own_tile<Storage>(part.tile.at);
    const int row_mask = ((1 << BESIDE) - 1) << place.m * BESIDE; // of the CTAs that share A
    const int column_mask = ((1 << ABOVE * BESIDE) - 1) / ((1 << BESIDE) - 1) << place.n;
#pragma unroll 1 // four copies of the loop would each run from a cold instruction cache
    for (int k_tile = 0; k_tile < part.k_tiles; ++k_tile) {
        // Waits for the consumers whose tile it was, the cluster's as well: they have read what
        // this stage held.
        mbarrier_wait(&smem.empty[stage], phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = (part.first_k_tile + (backwards ? part.k_tiles - 1 - k_tile : k_tile)) * BK;
        load_operand<Storage::BM, BESIDE>(smem.a[stage], map_a, k, tile.m * smem.BM, rows, place.n,
                                          row_mask, &smem.full[stage], part.tile.row_again);
        load_operand<Storage::BN, ABOVE>(smem.b[stage], map_b, k, tile.n * smem.BN, columns,
                                         place.m, column_mask, &smem.full[stage],
                                         part.tile.column_again);
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

// A consumer warpgroup: publishes its sums of one part of a tile. True if all other parts have
// arrived; then acc becomes the sums of the whole tile.
template <typename Storage, int BLOCKS, int COUNT>
DEVICE bool add_parts(Storage &smem, float (&acc)[BLOCKS][COUNT], const scheduled_part &part,
                      int consumer, float4 *sums, int *arrived) {
    constexpr int SUMS = Storage::SUMS;
    constexpr int EACH = Storage::CTAS * Storage::SHARING; // consumers of a part
    const int place = (Storage::CTAS > 1 ? cluster_cta_rank() * Storage::SHARING : 0) +
                      (Storage::SHARING > 1 ? consumer : 0);
    const int first = part.first_part * EACH + place;
    write_sums(&sums[size_t(part.number * EACH + place) * SUMS], acc);
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // all sums are written ...
    if (threadIdx.x % WARPGROUP_THREADS == 0) {
        smem.is_last[consumer] = count_arrival(&arrived[first]) == part.parts - 1;
        if (smem.is_last[consumer])
            arrived[first] = 0; // for the next launch
    }
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
    if (smem.is_last[consumer])
        add_sums(acc, &sums[size_t(first) * SUMS], part.parts, EACH * SUMS);
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

// What a launch computes. The first `whole` of the order's `places` are whole tiles.
struct Work {
    const scheduled_part *order;
    int places;
    int whole;
    int k_tiles;  // of a whole tile
    float4 *sums; // the workspace: of all parts
    int *arrived; // [parts][consumers], zero between launches
    bf16 *d;      // nullptr if TMA can store D's rows
    int m;
    int n;
    // Each worker's first place: from memory it would come too late for a small product.
    scheduled_loads first[MOST_WORKERS];
};

template <typename Storage>
__global__ void __launch_bounds__(Storage::THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const __grid_constant__ Work work) {
    constexpr int STAGES = Storage::STAGES;
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
        if (work.d == nullptr)
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
            scheduled_loads next = work.first[worker_index<Storage::CTAS>()];
            for (int i = worker_index<Storage::CTAS>(), backwards = 0; i < work.places;
                 i += worker_count<Storage::CTAS>(), backwards ^= 1) {
                // In registers: after each k-tile's barriers the compiler would read the order
                // again.
                const scheduled_loads part = next;
                if (i + worker_count<Storage::CTAS>() < work.places)
                    next = loads_of(&work.order[i + worker_count<Storage::CTAS>()]);
                load_tile(smem, &map_a, &map_b, part, Storage::SWAPPED ? work.n : work.m,
                          Storage::SWAPPED ? work.m : work.n, backwards, stage, phase);
            }
        }
        return; // here: if its threads went on, the loop's values would not be uniform
    } else {
        if (CONSUMERS > 1)
            setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        int turn = consumer == 0; // the parity to wait for: consumer 0 has the first turn at once
        int mine = consumer % Storage::TURNS; // 0: the next tile is this consumer's
        for (int i = worker_index<Storage::CTAS>(); i < work.places;
             i += worker_count<Storage::CTAS>()) {
            // Of whole tiles it is known: no consumer waits for the order before it multiplies.
            const int k_tiles = i < work.whole ? work.k_tiles : work.order[i].k_tiles;
            if (k_tiles == 0)
                continue;
            if (mine > 0) {
                mine = 0;
                skip_stages<STAGES>(k_tiles, stage, phase);
                continue;
            }
            mine = Storage::TURNS - 1;
            // Waits for the other consumer: before, the parity of `full` may match an older phase.
            if (Storage::TURNS > 1) {
                mbarrier_wait(&smem.turn[consumer], turn);
                // All threads have seen it before one of them hands it on and it comes back.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
            }
            turn ^= 1;
            // Read here: multiplying hides the latency.
            const tile_coordinate tile = own_tile<Storage>(work.order[i].tile.at);
            float acc[BLOCKS][Storage::WN / 2];
            multiply_tile(acc, smem, consumer, k_tiles, stage, phase);
            if (i >= work.whole && work.order[i].parts > 1 &&
                !add_parts(smem, acc, work.order[i], consumer, work.sums, work.arrived))
                continue;
            // After the CTA's last tile the ring has room for D, if that tile's k-tiles have filled
            // it: then the other consumer has read what it held.
            const bool in_ring = Storage::TURNS > 1 && k_tiles >= STAGES &&
                                 i + worker_count<Storage::CTAS>() >= work.places;
            for (int block = 0; block < BLOCKS; ++block)
                Storage::Store::store(
                    in_ring ? &smem.a[0][block * WM * Storage::WN] : smem.d[consumer], in_ring,
                    STAGING_BARRIER + consumer, &map_d, acc[block],
                    tile.m * smem.BM + smem.row(consumer) + block * WM,
                    tile.n * smem.BN + smem.column(consumer), work.d, work.m, work.n);
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
    int consumers; // of a part of a tile ...
    int sums;      // ... and what each of them adds, in float4s
    int box_rows;
    int box_columns;
};

template <int BM, int BN, tile_consumers WORK, int ABOVE, int BESIDE, bool SWAPPED>
constexpr Kernel make_kernel() {
    using Storage = SharedStorage<BM, BN, WORK, ABOVE, BESIDE, SWAPPED>;
    return {gemm<Storage>,
            {BM, BN, Storage::CONSUMERS, Storage::TURNS, WORK == BY_COLUMNS, Storage::STAGES, ABOVE,
             BESIDE, SWAPPED},
            sizeof(Storage),
            Storage::THREADS,
            Storage::SHARING * Storage::CTAS,
            Storage::SUMS,
            Storage::Store::BOX_ROWS,
            Storage::Store::BOX_COLUMNS};
}

#define KERNEL(bm, bn, work, above, beside) make_kernel<bm, bn, work, above, beside, false>(),
#define EXCHANGED(bm, bn, work, above, beside) make_kernel<bm, bn, work, above, beside, true>(),
static const Kernel KERNELS[] = {TILE_FAMILY(KERNEL) EXCHANGED_FAMILY(EXCHANGED)};
constexpr int KERNEL_COUNT = sizeof KERNELS / sizeof *KERNELS;

struct State {
    const Kernel *kernel;
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    Work work;
    scheduled_part *order; // of tiles or clusters, and of their parts, in device memory
    bf16 *padded; // A's rows and B's, with a pitch that TMA takes; nullptr if theirs is one
    int pitch;
    int ctas; // at most one per SM
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

// Makes the schedule and the workspace of parts in device memory: as in v18, but of clusters if
// there are any, and with a last wave that is cut if the plan says so.
static int make_order(State *made, int tiles_m, int tiles_n, int group, int workers, bool hints,
                      bool cut, cudaStream_t stream) {
    Work *work = &made->work;
    const int tiles = tiles_m * tiles_n;
    scheduled_tile *order = new scheduled_tile[tiles];
    scheduled_part *parts = new scheduled_part[tiles + 2 * workers];
    for (int i = 0; i < tiles; ++i)
        order[i] = {grouped_tile(i, tiles_m, tiles_n, group), true, true};
    if (hints)
        mark_reuse(order, tiles, workers);
    const int count =
        schedule_parts(parts, &work->places, order, tiles, work->k_tiles, workers, cut);
    work->whole = cut ? tiles / workers * workers : tiles;
    work->order = made->order = upload_array(parts, work->places);
    for (int worker = 0; worker < workers && worker < work->places; ++worker)
        work->first[worker] = loads_of(&parts[worker]);
    delete[] order;
    delete[] parts;
    return made->order == nullptr ||
           make_zeros(&work->sums, size_t(count) * made->kernel->consumers * made->kernel->sums,
                      stream) ||
           make_zeros(&work->arrived, count * made->kernel->consumers, stream);
}

// Makes the tensor maps: of A and B as they are, or padded; exchanged if the kernel is.
static int make_maps(State *made, const problem *p, bool fits_l2) {
    const Kernel *kernel = made->kernel;
    const tile_kernel *tile = &kernel->tile;
    const void *a = made->padded ? made->padded : p->a;
    const void *b = made->padded ? made->padded + size_t(p->m) * made->pitch : p->b;
    const void *first = tile->swapped ? b : a;
    const void *second = tile->swapped ? a : b;
    // The next 128 bytes of a row are the next k-tile's: DRAM delivers both at once. Not where the
    // L2 doesn't hold A and B: in trials v16 was slower so at 8192 cubed. A k-tile of rows that are
    // no multiple of 128 bytes apart begins anywhere; whole lines would be fetched twice.
    const auto promotion = made->pitch % BK == 0 && fits_l2 ? PROMOTED_256B : l2_promotion<bf16>();
    return make_tensor_map_2d(&made->map_a, first, tile->swapped ? p->n : p->m, made->pitch,
                              tile->rows / tile->beside, BK, SWIZZLED_128B, promotion) ||
           make_tensor_map_2d(&made->map_b, second, tile->swapped ? p->m : p->n, made->pitch,
                              tile->columns / tile->above, BK, SWIZZLED_128B, promotion) ||
           (made->work.d == nullptr &&
            make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, kernel->box_rows,
                               kernel->box_columns,
                               swizzle_of_rows(kernel->box_columns * int(sizeof(bf16)))));
}

static int prepare(const problem *p, void **state) {
    State *made = new State{};
    tile_plan plan;
    tile_gpu gpu;
    *state = made;
    if (make_plans(&plan, 1, p, &gpu) == 0)
        return 1;
    const Kernel *kernel = made->kernel = &KERNELS[plan.kernel];
    made->pitch = plan.pitch;
    made->work.k_tiles = ceil_div(p->k, BK);
    made->work.d = p->n % ROW_MULTIPLE ? static_cast<bf16 *>(p->d) : nullptr;
    made->work.m = p->m;
    made->work.n = p->n;
    made->ctas = plan.workers * tile_cluster(&kernel->tile);
    const bool fits_l2 = (double(p->m) + p->n) * p->k * sizeof(bf16) <= gpu.l2_bytes;
    if ((made->pitch > p->k &&
         make_zeros(&made->padded, (size_t(p->m) + p->n) * made->pitch, p->stream)) ||
        make_maps(made, p, fits_l2) || allow_dynamic_smem(kernel->run, kernel->smem))
        return 1;
    const int tiles_m = ceil_div(p->m, tile_step_m(&kernel->tile)); // of tiles or clusters, in D
    const int tiles_n = ceil_div(p->n, tile_step_n(&kernel->tile));
    const bool swapped = kernel->tile.swapped;
    const tile_shape shape = {p->m, p->n, p->k};
    const int group = tile_group(&kernel->tile, &shape, &plan);
    // Of a single wave nothing is read again by the next, but its CTAs share rows.
    const bool hints = !fits_l2 && plan.tiles > plan.workers;
    return make_order(made, swapped ? tiles_n : tiles_m, swapped ? tiles_m : tiles_n, group,
                      plan.workers, hints, plan.form == TILE_CUT, p->stream);
}

static int launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    const Kernel *kernel = made->kernel;
    const int split = ceil_div(p->k, PAD_COLUMNS);
    const dim3 pads(ceil_div(p->m + p->n, PAD_WARPS), split < PAD_SPLIT ? split : PAD_SPLIT);
    if (made->padded &&
        launch_early(p->early, pad_rows, pads, dim3(PAD_WARPS * WARP_THREADS), dim3(1), 0,
                     p->stream, made->padded, p->a, p->b, p->m, p->n, p->k, made->pitch))
        return 1;
    // After pad_rows early in any case: it waits for pad_rows, which has waited for what was
    // before.
    return launch_early(p->early || made->padded, kernel->run, dim3(made->ctas),
                        dim3(kernel->threads), dim3(tile_cluster(&kernel->tile)), kernel->smem,
                        p->stream, made->map_a, made->map_b, made->map_d, made->work);
}

static void release(void *state) {
    const State *made = static_cast<const State *>(state);
    release_array(made->order);
    release_array(made->work.sums);
    release_array(made->work.arrived);
    release_array(made->padded);
    delete made;
}

static const step v23 = {
    .name = "v23",
    .idea = "any shape",
    .computes = GEMM_BF16,
    .launches_early = true,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = 1,
    .multiple_k = 1,
    .any_row = true,
    .kernels = KERNEL_COUNT * FORMS,
    .tile_of = tile_of,
    .kernel_of = kernel_of,
    .explain = explain,
    .prepare = prepare,
    .launch = launch,
    .release = release,
};

int main(int argc, char **argv) { return step_main(&v23, argc, argv); }
