// v14's kernel with switches. All of them on, it is that rung line by line; each part leaves one
// thing out. What is left out is left out at compile time: no part pays for the switches. Only the
// sums have to stay: see read_sums().
#include "energy/parts.h"

#include <algorithm>
#include <string.h>

#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/stmatrix.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "energy/clock.cuh"
#include "energy/evict_normal.cuh"
#include "energy/wgmma_a_registers.cuh"

namespace {

constexpr int BM = 128;
constexpr int BN = 256;
constexpr int BK = 64;
constexpr int STAGES = 4;
constexpr int CONSUMERS = 2;
constexpr int GROUP = 16; // rows of tiles in a strip
constexpr int WM = BM / CONSUMERS;
constexpr int MMA_K = 16;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr int STAGING_COLUMNS = BN / 2;
constexpr int FEW_COLUMNS = 8;  // of tiles: a wave of 128 CTAs is as wide, and GROUP rows high
constexpr int FEW_K_TILES = 16; // with them 8 MiB of A and B: each half of the L2 can hold them
constexpr int QUARTERS = 4;
enum { STAGING_BARRIER = 1 };
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

// What the producer loads.
enum class Loads {
    NOTHING,   // stages are handed over empty
    ONCE,      // each stage once; from then on it is handed over as it is
    FEW,       // always from the same few tiles, as often shared as in the GEMM: the L2 has them
    FEW_APART, // the same, but the L2 is asked by each CTA for itself
    ALL        // the GEMM's
};

__host__ __device__ constexpr bool is_few(Loads loads) {
    return loads == Loads::FEW || loads == Loads::FEW_APART;
}

// How the consumers multiply. Fewer columns an instruction: A is read more often.
enum class Multiply { NOTHING, N256, N128, N64, A_IN_REGISTERS };

struct Switches {
    Loads loads;
    Multiply multiply;
    bool exchange; // producer and consumers meet at barriers for each k-tile
    bool store;    // D is written
    bool paced;    // the producer hands over no stage before its time
};

// Each part's switches, as a type: nvcc cannot name a kernel by a structure's value.
struct Whole {
    static constexpr Switches SWITCHES = {Loads::ALL, Multiply::N256, true, true, false};
};
struct NoStore {
    static constexpr Switches SWITCHES = {Loads::ALL, Multiply::N256, true, false, false};
};
struct NoDram {
    static constexpr Switches SWITCHES = {Loads::FEW, Multiply::N256, true, false, false};
};
struct NoLoads {
    static constexpr Switches SWITCHES = {Loads::ONCE, Multiply::N256, true, false, false};
};
struct MultiplyAlone {
    static constexpr Switches SWITCHES = {Loads::ONCE, Multiply::N256, false, false, false};
};
struct MultiplyN128 {
    static constexpr Switches SWITCHES = {Loads::ONCE, Multiply::N128, false, false, false};
};
struct MultiplyN64 {
    static constexpr Switches SWITCHES = {Loads::ONCE, Multiply::N64, false, false, false};
};
struct MultiplyARegisters {
    static constexpr Switches SWITCHES = {Loads::ONCE, Multiply::A_IN_REGISTERS, false, false,
                                          false};
};
struct LoadsPaced {
    static constexpr Switches SWITCHES = {Loads::ALL, Multiply::NOTHING, true, false, true};
};
struct LoadsL2 {
    static constexpr Switches SWITCHES = {Loads::FEW, Multiply::NOTHING, true, false, true};
};
struct LoadsL2Apart {
    static constexpr Switches SWITCHES = {Loads::FEW_APART, Multiply::NOTHING, true, false, true};
};
struct Waiting {
    static constexpr Switches SWITCHES = {Loads::NOTHING, Multiply::NOTHING, true, false, true};
};

// Columns of D that one wgmma computes.
__host__ __device__ constexpr int mma_n(Multiply multiply) {
    return multiply == Multiply::N64 ? 64 : multiply == Multiply::N128 ? 128 : 256;
}

struct SharedStorage {
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    alignas(1024) bf16 d[CONSUMERS][STAGING_COLUMNS / SWIZZLE_COLUMNS][WM * SWIZZLE_COLUMNS];
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// Where the CTA is in the ring.
struct Place {
    int stage = 0;
    int phase = 0; // the parity of the pass over the ring

    DEVICE void advance() {
        stage = (stage + 1) % STAGES;
        phase ^= stage == 0;
    }
};

// The pace of a CTA: it hands over k-tile i at begin + i * picoseconds.
struct Pace {
    uint64_t begin;
    uint64_t picoseconds; // of a k-tile
    uint64_t k_tiles = 0; // handed over so far

    DEVICE void next() { wait_until(begin + k_tiles++ * picoseconds / 1000); }
};

// One operand's part of a stage. What the next wave reads again stays in the L2, the rest goes
// first. Both kinds of requests merge on their way.
template <Loads LOADS>
DEVICE void load_operand(bf16 *tile, const TensorMap *map, int k, int row, uint64_t *full,
                         bool again) {
    if (LOADS == Loads::FEW_APART)
        tma_load_3d_evict_normal(tile, map, k, row, full);
    else if (again)
        tma_load_3d(tile, map, k, row, full);
    else
        tma_load_3d_evict_first(tile, map, k, row, full);
}

// Starts the two loads of a stage; the consumers wait for their bytes.
template <Loads LOADS>
DEVICE void load_stage(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                       int stage, const scheduled_tile &tile, int k) {
    uint64_t *full = &smem.full[stage];
    mbarrier_arrive_expect_tx(full, sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
    load_operand<LOADS>(smem.a[stage], map_a, k, tile.at.m * BM, full, tile.row_again);
    load_operand<LOADS>(smem.b[stage], map_b, k, tile.at.n * BN, full, tile.column_again);
}

// The producer, one thread: hands over the stages of a tile. `passed`: k-tiles before this tile.
template <Switches PART>
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      const scheduled_tile &tile, int k_tiles, bool backwards, int passed,
                      Pace &pace, Place &place) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        if (PART.paced)
            pace.next();
        // Waits for the consumers: they are done with this stage.
        mbarrier_wait(&smem.empty[place.stage], place.phase ^ 1);
        const int from = backwards ? k_tiles - 1 - k_tile : k_tile;
        const int k = (is_few(PART.loads) ? from % FEW_K_TILES : from) * BK;
        const bool loads =
            PART.loads == Loads::ONCE ? passed + k_tile < STAGES : PART.loads != Loads::NOTHING;
        if (loads)
            load_stage<PART.loads>(smem, map_a, map_b, place.stage, tile, k);
        else
            mbarrier_arrive(&smem.full[place.stage]); // no bytes to wait for
        place.advance();
    }
}

// A consumer warpgroup hands a stage back: one arrival, when its wgmmas have read it.
DEVICE void release_stage(SharedStorage &smem, int stage) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// Multiplies one stage with both operands in shared memory: [64][N] a time, side by side.
template <int N>
DEVICE void multiply_stage(float (&acc)[BN / N][N / 2], SharedStorage &smem, int stage,
                           int consumer, bool accumulate) {
    const uint64_t a = matrix_descriptor(&smem.a[stage][consumer * WM * BK]);
#pragma unroll
    for (int kk = 0; kk < BK; kk += MMA_K) {
#pragma unroll
        for (int j = 0; j < BN / N; ++j) {
            const uint64_t b = matrix_descriptor(&smem.b[stage][j * N * BK]);
            wgmma<N>(acc[j], advance_k(a, kk), advance_k(b, kk), accumulate || kk > 0);
        }
    }
}

// The same with A in registers: the fragments of one stage, for all of them.
DEVICE void multiply_stage(float (&acc)[1][BN / 2], SharedStorage &smem, int stage,
                           const FragmentA (&a)[BK / MMA_K], bool accumulate) {
    const uint64_t b = matrix_descriptor(smem.b[stage]);
#pragma unroll
    for (int kk = 0; kk < BK; kk += MMA_K)
        wgmma_a_registers(acc[0], a[kk / MMA_K], advance_k(b, kk), accumulate || kk > 0);
}

// Waits for all of the warpgroup's wgmmas.
template <int PARTS, int COUNT>
DEVICE void wait_for_wgmmas(float (&acc)[PARTS][COUNT]) {
#pragma unroll
    for (int j = 0; j < PARTS; ++j)
        wgmma_wait<0>(acc[j]); // from the second one on it names registers and waits for nothing
}

// A consumer warpgroup: the k-tiles of one tile.
template <Switches PART, int N = mma_n(PART.multiply)>
DEVICE void consume_tile(float (&acc)[BN / N][N / 2], SharedStorage &smem, int consumer,
                         int k_tiles, const FragmentA (&a)[BK / MMA_K], Place &place) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        if (PART.exchange)
            mbarrier_wait(&smem.full[place.stage], place.phase); // for the producer
        if constexpr (PART.multiply != Multiply::NOTHING) {
            wgmma_fence(); // what touched the accumulators before comes before these wgmmas
            if constexpr (PART.multiply == Multiply::A_IN_REGISTERS)
                multiply_stage(acc, smem, place.stage, a, k_tile > 0);
            else
                multiply_stage<N>(acc, smem, place.stage, consumer, k_tile > 0);
            wgmma_commit();
            wait_for_wgmmas(acc);
        } else {
            // Without a wgmma, which takes all four warps, the one that gives stages back could run
            // ahead: the stage would be full twice before another warp has seen it full once, and
            // that one would wait for ever.
            named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
        }
        if (PART.exchange)
            release_stage(smem, place.stage);
        place.advance();
    }
}

// A consumer warpgroup: v14's epilogue.
DEVICE void store_tile(SharedStorage &smem, const TensorMap *map_d, const float (&acc)[BN / 2],
                       int consumer, int row, int column) {
    const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;
    const bool leader = threadIdx.x % WARPGROUP_THREADS == 0;
    const int matrix_row = warp * 16 + lane % 16;
    const int matrix_column = lane / 16 * 8;

    for (int half = 0; half < BN; half += STAGING_COLUMNS) {
        if (leader)
            bulk_wait_read<0>(); // the last store has read the staging memory ...
        named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all know
        for (int j = 0; j < STAGING_COLUMNS; j += 16) {
            bf16 *slice = smem.d[consumer][j / SWIZZLE_COLUMNS];
            const int chunk = j % SWIZZLE_COLUMNS + matrix_column;
            stmatrix_x4(&slice[swizzle_128b(matrix_row, chunk)], &acc[(half + j) / 2]);
        }
        fence_proxy_async(); // what this thread wrote is seen by TMA ...
        named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all wrote
        if (leader) {
            for (int j = 0; j < STAGING_COLUMNS; j += SWIZZLE_COLUMNS)
                tma_store_2d(map_d, smem.d[consumer][j / SWIZZLE_COLUMNS], column + half + j, row);
            bulk_commit();
        }
    }
}

// What both sides of the ring need to know.
struct Work {
    const scheduled_tile *order;
    int tiles;
    int k_tiles;
    uint64_t picoseconds; // of a k-tile, where it is paced
    float *nowhere;       // always null, which only the host knows
};

// Reads a tile's sums where no epilogue does. ptxas removes wgmmas whose sums nobody reads, though
// their asm is volatile, and leaves the loop around them. It cannot know that `nowhere` is null, so
// all of them stay; what runs is one branch a tile. tests/energy_code.py counts what is left.
template <int PARTS, int COUNT>
DEVICE void read_sums(const float (&acc)[PARTS][COUNT], float *nowhere) {
    if (nowhere == nullptr)
        return;
#pragma unroll
    for (int i = 0; i < PARTS * COUNT; ++i)
        nowhere[i * THREADS + threadIdx.x] = acc[i / COUNT][i % COUNT];
}

// The producer's tiles.
template <Switches PART>
DEVICE void produce(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                    const Work &work) {
    Place place;
    Pace pace = {PART.paced ? nanoseconds() : 0, work.picoseconds};
    int passed = 0;
    for (int i = blockIdx.x; i < work.tiles; i += gridDim.x) {
        scheduled_tile tile = work.order[i];
        if (is_few(PART.loads)) { // who shares what with whom is as in the GEMM
            tile.at.m %= GROUP;
            tile.at.n %= FEW_COLUMNS;
        }
        const bool backwards = i / gridDim.x % 2; // every other tile of this CTA
        // Where nobody gives a stage back, it is filled once.
        const int k_tiles = PART.exchange ? work.k_tiles : STAGES;
        load_tile<PART>(smem, map_a, map_b, tile, k_tiles, backwards, passed, pace, place);
        passed += k_tiles;
        if (!PART.exchange)
            return;
    }
}

// A consumer's tiles.
template <Switches PART>
DEVICE void consume(SharedStorage &smem, const TensorMap *map_d, int consumer, const Work &work) {
    constexpr int N = mma_n(PART.multiply);
    Place place;
    FragmentA a[BK / MMA_K] = {};
    if (!PART.exchange) // nobody waits later on
        for (int stage = 0; stage < STAGES; ++stage)
            mbarrier_wait(&smem.full[stage], 0);
    if constexpr (PART.multiply == Multiply::A_IN_REGISTERS)
        for (int kk = 0; kk < BK; kk += MMA_K)
            a[kk / MMA_K] = load_fragment_a(&smem.a[0][consumer * WM * BK], kk);
    for (int i = blockIdx.x; i < work.tiles; i += gridDim.x) {
        const tile_coordinate tile = work.order[i].at;
        float acc[BN / N][N / 2];
        consume_tile<PART>(acc, smem, consumer, work.k_tiles, a, place);
        if constexpr (PART.store)
            store_tile(smem, map_d, acc[0], consumer, tile.m * BM + consumer * WM, tile.n * BN);
        else if constexpr (PART.multiply != Multiply::NOTHING)
            read_sums(acc, work.nowhere);
    }
    bulk_wait<0>(); // the last store is done with this CTA's shared memory
}

template <typename Part>
__global__ void __launch_bounds__(THREADS, 1)
    part_kernel(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                const __grid_constant__ TensorMap map_d, const Work work) {
    constexpr Switches PART = Part::SWITCHES;
    static_assert(!PART.store || mma_n(PART.multiply) == BN, "the epilogue takes one accumulator");
    static_assert(PART.exchange || PART.loads == Loads::ONCE,
                  "a stage is filled once, or given back");
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

    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            produce<PART>(smem, &map_a, &map_b, work);
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        consume<PART>(smem, &map_d, warpgroup - 1, work);
    }
}

// One warp that looks at the clock until the time is over.
__global__ void __launch_bounds__(WARP_THREADS) busy(uint64_t duration) {
    const uint64_t begin = nanoseconds();
    while (nanoseconds() - begin < duration) {
    }
}

// A kernel with its switches, so that the host can ask what it does.
struct Variant {
    const char *name;
    Switches switches;
    void (*kernel)(TensorMap, TensorMap, TensorMap, Work);
};

template <typename Part>
constexpr Variant variant(const char *name) {
    return {name, Part::SWITCHES, part_kernel<Part>};
}

const Variant VARIANTS[] = {
    variant<Whole>("whole"),
    variant<NoStore>("no-store"),
    variant<NoDram>("no-dram"),
    variant<NoLoads>("no-loads"),
    variant<MultiplyAlone>("multiply"),
    variant<MultiplyN128>("multiply-n128"),
    variant<MultiplyN64>("multiply-n64"),
    variant<MultiplyARegisters>("multiply-a-registers"),
    variant<LoadsPaced>("loads"),
    variant<LoadsL2>("loads-l2"),
    variant<LoadsL2Apart>("loads-l2-apart"),
    variant<Waiting>("waiting"),
};

// Parts that are another part's kernel: on fewer SMs, or on zeros.
const struct {
    const char *part, *variant;
} SAME_KERNEL[] = {{"whole-three-quarters", "whole"},
                   {"whole-half", "whole"},
                   {"multiply-half", "multiply"},
                   {"multiply-zeros", "multiply"}};

// The kernel of a part.
const Variant *variant_of(const part *part) {
    const char *name = part->name;
    for (const auto &same : SAME_KERNEL)
        if (strcmp(same.part, name) == 0)
            name = same.variant;
    for (const Variant &variant : VARIANTS)
        if (strcmp(variant.name, name) == 0)
            return &variant;
    fprintf(stderr, "the part %s has no kernel\n", name);
    return nullptr;
}

struct State {
    const part *of;
    const Variant *variant;
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    Work work;
    int ctas;
    uint64_t busy_nanoseconds; // of PART_ONE_SM
};

// The tiles of D strip by strip, in device memory; nullptr if that fails.
scheduled_tile *make_order(int tiles_m, int tiles_n, int ctas) {
    const int tiles = tiles_m * tiles_n;
    scheduled_tile *order = new scheduled_tile[tiles];
    for (int i = 0; i < tiles; ++i)
        order[i].at = grouped_tile(i, tiles_m, tiles_n, GROUP);
    mark_reuse(order, tiles, ctas);
    scheduled_tile *uploaded = upload_array(order, tiles);
    delete[] order;
    return uploaded;
}

int prepare_kernel(State *made, const problem *p, double pace) {
    made->variant = variant_of(made->of);
    if (made->variant == nullptr || make_tensor_map_3d(&made->map_a, p->a, p->m, p->k, BM, BK) ||
        make_tensor_map_3d(&made->map_b, p->b, p->n, p->k, BN, BK) ||
        make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, WM, SWIZZLE_COLUMNS) ||
        allow_dynamic_smem(made->variant->kernel, sizeof(SharedStorage)) ||
        multiprocessor_count(&made->ctas))
        return 1;
    const int tiles_m = ceil_div(p->m, BM);
    const int tiles_n = ceil_div(p->n, BN);
    Work &work = made->work;
    work.tiles = tiles_m * tiles_n;
    work.k_tiles = ceil_div(p->k, BK);
    const int balanced = balanced_workers(work.tiles, made->ctas);
    made->ctas = std::max(1, balanced * made->of->quarters / QUARTERS);
    const int waves = ceil_div(work.tiles, made->ctas);
    work.picoseconds = uint64_t(pace * 1e12 / waves / work.k_tiles);
    work.order = make_order(tiles_m, tiles_n, made->ctas);
    return work.order == nullptr;
}

int launch_kernel(const problem *p, const State *made) {
    return launch(made->variant->kernel, dim3(made->ctas), dim3(THREADS), dim3(1),
                  sizeof(SharedStorage), p->stream, made->map_a, made->map_b, made->map_d,
                  made->work);
}

} // namespace

const part parts[] = {
    {"rung", "the rung itself", PART_RUNG, QUARTERS, false, true, false},
    {"whole", "the same from the source of the parts", PART_KERNEL, QUARTERS, false, true, false},
    {"no-store", "D is not stored", PART_KERNEL, QUARTERS, false, false, false},
    {"no-dram", "nor are operands read from DRAM: few tiles, which the L2 holds", PART_KERNEL,
     QUARTERS, false, false, false},
    {"no-loads", "nor from the L2: the stages stay as they are", PART_KERNEL, QUARTERS, false,
     false, false},
    {"multiply", "nor do producer and consumers meet: wgmma alone", PART_KERNEL, QUARTERS, false,
     false, false},
    {"multiply-n128", "wgmma of 128 columns: A is read twice as often", PART_KERNEL, QUARTERS,
     false, false, false},
    {"multiply-n64", "wgmma of 64 columns: A is read four times as often", PART_KERNEL, QUARTERS,
     false, false, false},
    {"multiply-a-registers", "wgmma with A in registers: only B is read", PART_KERNEL, QUARTERS,
     false, false, false},
    {"multiply-half", "wgmma alone, on half of the SMs", PART_KERNEL, QUARTERS / 2, false, false,
     false},
    {"whole-three-quarters", "the whole on three quarters of the SMs", PART_KERNEL, 3, false, true,
     false},
    {"whole-half", "the whole on half of the SMs", PART_KERNEL, QUARTERS / 2, false, true, false},
    {"loads", "the loads alone, through DRAM, at the whole's pace", PART_KERNEL, QUARTERS, false,
     false, true},
    {"loads-l2", "the loads alone, from the L2, at the whole's pace", PART_KERNEL, QUARTERS, false,
     false, true},
    {"waiting", "barriers alone, at the whole's pace: nothing moves", PART_KERNEL, QUARTERS, false,
     false, true},
    {"one-sm", "one warp on one SM", PART_ONE_SM, QUARTERS, false, false, true},
    {"idle", "nothing runs", PART_IDLE, QUARTERS, false, false, false},
    {"multiply-zeros", "wgmma alone, on zeros", PART_KERNEL, QUARTERS, true, false, false},
    {"loads-l2-apart", "the loads alone, from the L2, with a policy that keeps them from merging",
     PART_KERNEL, QUARTERS, false, false, true},
    {"rung-again", "the rung once more: what has drifted since", PART_RUNG, QUARTERS, false, true,
     false},
};
const size_t parts_count = sizeof parts / sizeof parts[0];

const part *part_named(const char *name) {
    for (const part &one : parts)
        if (strcmp(one.name, name) == 0)
            return &one;
    return nullptr;
}

int part_prepare(const part *part, const problem *p, double pace, void **state) {
    State *made = new State{};
    *state = made;
    made->of = part;
    made->busy_nanoseconds = uint64_t(pace * 1e9);
    return part->kind == PART_KERNEL ? prepare_kernel(made, p, pace) : 0;
}

int part_launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    if (made->of->kind == PART_KERNEL)
        return launch_kernel(p, made);
    return launch(busy, dim3(1), dim3(WARP_THREADS), dim3(1), 0, p->stream, made->busy_nanoseconds);
}

void part_release(void *state) {
    State *made = static_cast<State *>(state);
    if (made == nullptr)
        return;
    release_array(const_cast<scheduled_tile *>(made->work.order));
    delete made;
}

part_counts part_count(const problem *p, const void *state) {
    const State *made = static_cast<const State *>(state);
    part_counts counts = {};
    if (made->of->kind != PART_KERNEL)
        return counts;
    const Switches &part = made->variant->switches;
    const double k_tiles = double(made->work.tiles) * made->work.k_tiles; // of all CTAs
    const double loaded = part.loads == Loads::NOTHING ? 0
                          : part.loads == Loads::ONCE  ? double(made->ctas) * STAGES
                                                       : k_tiles;
    const int n = mma_n(part.multiply);
    const int rows_of_a = part.multiply == Multiply::A_IN_REGISTERS ? 0 : WM * (BN / n);
    if (part.multiply != Multiply::NOTHING) {
        counts.flop = 2.0 * BM * BN * BK * k_tiles;
        counts.operand_bytes = double(CONSUMERS) * (rows_of_a + BN) * BK * sizeof(bf16) * k_tiles;
    }
    counts.loaded_bytes = double(BM + BN) * BK * sizeof(bf16) * loaded;
    counts.stored_bytes = part.store ? double(p->m) * p->n * sizeof(bf16) : 0;
    counts.exchanges = part.exchange ? k_tiles : 0;
    counts.operands_in_dram = part.loads == Loads::ALL;
    return counts;
}
