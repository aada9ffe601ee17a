// v16's kernel with switches. With all of them on it is that rung, line by line; each part leaves
// one thing out, at compile time, so that the switches cost nothing. Only the sums have to stay:
// see read_sums().
#include "energy/parts.h"

#include <algorithm>
#include <vector>

#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/stmatrix.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "energy/device.cuh"

namespace {

constexpr int BM = 256;
constexpr int BN = 200;
constexpr int BK = 64;
constexpr int STAGES = 3;
constexpr int CONSUMERS = 2;
constexpr int GROUP = 8; // rows of tiles in a group of the schedule
constexpr int WM = 64;   // rows of a wgmma
constexpr int MMA_K = 16;
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int BLOCKS = BM / WM / CONSUMERS; // of WM rows, of each consumer
// A wave of 132 CTAs has 16.5 columns of tiles and the rows of one group, or of two where one ends.
// These few tiles are 15 MiB of A and B: each half of the L2 can hold them.
constexpr int FEW_ROWS = 2 * GROUP;
constexpr int FEW_COLUMNS = 17;
constexpr int FEW_K_TILES = 16;
enum { STAGING_BARRIER = 1 };
static_assert(BN / 8 % 2 == 1, "rows of the staging memory are an odd number of chunks");
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

// What the producer loads.
enum class Loads {
    NOTHING,   // stages are handed over empty
    ONCE,      // each stage once; from then on it is handed over as it is
    FEW,       // always from the same few tiles, as often shared as in the GEMM: the L2 has them
    FEW_APART, // the same, but each CTA's requests reach the L2
    ALL        // the GEMM's
};

__host__ __device__ constexpr bool is_few(Loads loads) {
    return loads == Loads::FEW || loads == Loads::FEW_APART;
}

// How the consumers multiply. With fewer columns per instruction A is read more often.
enum class Multiply { NOTHING, N200, N104, N40, A_IN_REGISTERS };

struct Switches {
    Loads loads;
    Multiply multiply;
    bool exchange; // producer and consumers synchronise for each k-tile
    bool store;    // D is written
    bool paced;    // the producer hands over no stage before its time
};

// Each part's switches, as a type: nvcc cannot name a kernel by a structure's value.
template <Loads LOADS, Multiply MULTIPLY, bool EXCHANGE, bool STORE, bool PACED>
struct Part {
    static constexpr Switches SWITCHES = {LOADS, MULTIPLY, EXCHANGE, STORE, PACED};
};
struct Whole : Part<Loads::ALL, Multiply::N200, true, true, false> {};
struct NoStore : Part<Loads::ALL, Multiply::N200, true, false, false> {};
struct NoDram : Part<Loads::FEW, Multiply::N200, true, false, false> {};
struct NoLoads : Part<Loads::ONCE, Multiply::N200, true, false, false> {};
struct MultiplyAlone : Part<Loads::ONCE, Multiply::N200, false, false, false> {};
struct MultiplyN104 : Part<Loads::ONCE, Multiply::N104, false, false, false> {};
struct MultiplyN40 : Part<Loads::ONCE, Multiply::N40, false, false, false> {};
struct MultiplyARegisters : Part<Loads::ONCE, Multiply::A_IN_REGISTERS, false, false, false> {};
struct LoadsPaced : Part<Loads::ALL, Multiply::NOTHING, true, false, true> {};
struct LoadsL2 : Part<Loads::FEW, Multiply::NOTHING, true, false, true> {};
struct LoadsL2Apart : Part<Loads::FEW_APART, Multiply::NOTHING, true, false, true> {};
struct Waiting : Part<Loads::NOTHING, Multiply::NOTHING, true, false, true> {};

struct SharedStorage {
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    alignas(128) bf16 d[CONSUMERS][WM * BN];
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// Where the CTA is in the ring.
struct Place {
    int stage = 0;
    int phase = 0; // the parity of this pass over the ring

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

// What both sides of the ring need to know.
struct Work {
    const scheduled_tile *order;
    int tiles;
    int k_tiles;
    uint64_t picoseconds; // of a k-tile, where it is paced
    float *nowhere;       // always null, which only the host knows
};

// The tile whose operands a CTA loads in place of its own: CTAs share them as in the GEMM.
__host__ __device__ tile_coordinate few_tile(tile_coordinate tile) {
    tile.m %= FEW_ROWS;
    tile.n %= FEW_COLUMNS;
    return tile;
}

// Loads one operand's part of a stage. What the next wave reads again stays in the L2; the rest is
// evicted first. Both kinds of requests merge on their way.
template <Loads LOADS>
DEVICE void load_operand(bf16 *tile, const TensorMap *map, int k, int row, uint64_t *full,
                         bool again) {
    if (LOADS == Loads::FEW_APART)
        tma_load_2d_hint(tile, map, k, row, full, evict_normal_policy());
    else if (again)
        tma_load_2d(tile, map, k, row, full);
    else
        tma_load_2d_hint(tile, map, k, row, full, evict_first_policy());
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

// The producer, one thread: hands over the stages of its tiles.
template <Switches PART>
DEVICE void produce(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                    const Work &work) {
    Place place;
    Pace pace = {PART.paced ? nanoseconds() : 0, work.picoseconds};
    int passed = 0; // k-tiles before this tile
    for (int i = blockIdx.x; i < work.tiles; i += gridDim.x) {
        scheduled_tile tile = work.order[i];
        if (is_few(PART.loads))
            tile.at = few_tile(tile.at);
        const bool backwards = i / gridDim.x % 2; // every other tile of this CTA
        // If no consumer hands a stage back, it is filled once.
        const int k_tiles = PART.exchange ? work.k_tiles : STAGES;
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
        passed += k_tiles;
        if (!PART.exchange)
            return;
    }
}

// A block of accumulators: 64 rows, BN columns. 8 columns are 4 numbers of a thread, for any width
// of the wgmma.
using Block = float[BN / 2];

// N columns of a block (+)= 16 columns of A times N rows of B.
template <int N>
DEVICE void multiply_columns(Block &acc, int first, uint64_t a, const bf16 *b, int kk,
                             bool accumulate) {
    float(&columns)[N / 2] = *reinterpret_cast<float(*)[N / 2]>(&acc[first / 2]);
    wgmma_narrow<N>(columns, a, advance_k(matrix_descriptor(&b[first * BK]), kk), accumulate);
}

// A consumer's fragments of A in registers, used alternately: the same for both blocks and every
// stage, since more do not fit beside the accumulators.
using Fragments = FragmentA[2];
constexpr int FRAGMENTS = sizeof(Fragments) / sizeof(FragmentA);

// Multiplies one stage, with wgmmas of the part's width.
template <Multiply MULTIPLY>
DEVICE void multiply_stage(float (&acc)[BLOCKS][BN / 2], SharedStorage &smem, int stage,
                           int consumer, const Fragments &fragments, bool accumulate) {
    const bf16 *b = smem.b[stage];
#pragma unroll
    for (int kk = 0; kk < BK; kk += MMA_K)
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
            const bool add = accumulate || kk > 0;
            const int row = (consumer * BLOCKS + block) * WM;
            const uint64_t a = advance_k(matrix_descriptor(&smem.a[stage][row * BK]), kk);
            if constexpr (MULTIPLY == Multiply::N40) {
#pragma unroll
                for (int first = 0; first < BN; first += 40)
                    multiply_columns<40>(acc[block], first, a, b, kk, add);
            } else if constexpr (MULTIPLY == Multiply::N104) {
                multiply_columns<104>(acc[block], 0, a, b, kk, add);
                multiply_columns<96>(acc[block], 104, a, b, kk, add);
            } else if constexpr (MULTIPLY == Multiply::A_IN_REGISTERS) {
                wgmma_a_registers(acc[block], fragments[kk / MMA_K % FRAGMENTS],
                                  advance_k(matrix_descriptor(b), kk), add);
            } else {
                wgmma<BN>(acc[block], a, advance_k(matrix_descriptor(b), kk), add);
            }
        }
}

// A consumer warpgroup: the k-tiles of one tile.
template <Switches PART>
DEVICE void consume_tile(float (&acc)[BLOCKS][BN / 2], SharedStorage &smem, int consumer,
                         int k_tiles, const Fragments &fragments, Place &place) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        if (PART.exchange)
            mbarrier_wait(&smem.full[place.stage], place.phase); // for the producer
        if constexpr (PART.multiply != Multiply::NOTHING) {
            wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
            multiply_stage<PART.multiply>(acc, smem, place.stage, consumer, fragments, k_tile > 0);
            wgmma_commit();
            wgmma_wait<0>(acc);
        } else {
            // A wgmma holds the four warps together. Without one, the warp that hands stages back
            // could run ahead: a stage would be full twice before another warp has seen it full
            // once, and that warp would wait for ever.
            named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
        }
        // Hands the stage back: one arrival of the warpgroup, when its wgmmas have read it.
        if (PART.exchange && threadIdx.x % WARPGROUP_THREADS == 0)
            mbarrier_arrive(&smem.empty[place.stage]);
        place.advance();
    }
}

// A consumer warpgroup: v16's epilogue, for a block.
DEVICE void store_block(SharedStorage &smem, const TensorMap *map_d, const float (&acc)[BN / 2],
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

// Reads a tile's sums if no epilogue does. ptxas removes wgmmas whose sums are never read, although
// their asm is volatile, and keeps the loop around them. It cannot know that `nowhere` is null, so
// all of them stay; what runs is one branch per tile. tests/energy_code.py counts what is left.
DEVICE void read_sums(const float (&acc)[BLOCKS][BN / 2], float *nowhere) {
    constexpr int COUNT = BN / 2;
    if (nowhere == nullptr)
        return;
#pragma unroll
    for (int i = 0; i < BLOCKS * COUNT; ++i)
        nowhere[i * THREADS + threadIdx.x] = acc[i / COUNT][i % COUNT];
}

// A consumer's tiles.
template <Switches PART>
DEVICE void consume(SharedStorage &smem, const TensorMap *map_d, int consumer, const Work &work) {
    Place place;
    Fragments fragments = {};
    if (!PART.exchange) // no thread waits later on
        for (int stage = 0; stage < STAGES; ++stage)
            mbarrier_wait(&smem.full[stage], 0);
    if constexpr (PART.multiply == Multiply::A_IN_REGISTERS)
        for (int i = 0; i < FRAGMENTS; ++i)
            fragments[i] = load_fragment_a(&smem.a[0][consumer * BLOCKS * WM * BK], i * MMA_K);
    for (int i = blockIdx.x; i < work.tiles; i += gridDim.x) {
        const tile_coordinate tile = work.order[i].at;
        float acc[BLOCKS][BN / 2];
        consume_tile<PART>(acc, smem, consumer, work.k_tiles, fragments, place);
        if constexpr (PART.store) {
            for (int block = 0; block < BLOCKS; ++block)
                store_block(smem, map_d, acc[block], consumer,
                            tile.m * BM + (consumer * BLOCKS + block) * WM, tile.n * BN);
        } else if constexpr (PART.multiply != Multiply::NOTHING) {
            read_sums(acc, work.nowhere);
        }
    }
    bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
}

template <typename Own>
__global__ void __launch_bounds__(THREADS, 1)
    part_kernel(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                const __grid_constant__ TensorMap map_d, const Work work) {
    constexpr Switches PART = Own::SWITCHES;
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
        setmaxnreg_dec<PART.multiply == Multiply::A_IN_REGISTERS ? 24 : 40>();
        if (threadIdx.x == 0)
            produce<PART>(smem, &map_a, &map_b, work);
    } else {
        // With A in registers a consumer needs more than v16's.
        setmaxnreg_inc<PART.multiply == Multiply::A_IN_REGISTERS ? 240 : 232>();
        consume<PART>(smem, &map_d, warpgroup - 1, work);
    }
}

// One warp that polls the clock until the time is over.
__global__ void __launch_bounds__(WARP_THREADS) busy(uint64_t duration) {
    const uint64_t begin = nanoseconds();
    while (nanoseconds() - begin < duration) {
    }
}

} // namespace

// A kernel with its switches, so that the host knows what it does.
struct variant {
    Switches switches;
    void (*kernel)(TensorMap, TensorMap, TensorMap, Work);
};

namespace {

struct State {
    const part *of;
    const step *rung; // of a PART_RUNG, and its state
    void *rung_state;
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    Work work;
    int ctas;
    uint64_t busy_nanoseconds; // of a PART_ONE_SM
};

// The tiles of D in grouped raster order, in device memory; nullptr if that fails.
scheduled_tile *make_order(int tiles_m, int tiles_n, int ctas) {
    std::vector<scheduled_tile> order(tiles_m * tiles_n);
    for (size_t i = 0; i < order.size(); ++i)
        order[i].at = grouped_tile(int(i), tiles_m, tiles_n, GROUP);
    mark_reuse(order.data(), int(order.size()), ctas);
    return upload_array(order.data(), order.size());
}

int prepare_kernel(State *made, const problem *p, double pace) {
    if (make_tensor_map_2d(&made->map_a, p->a, p->m, p->k, BM, BK) ||
        make_tensor_map_2d(&made->map_b, p->b, p->n, p->k, BN, BK) ||
        make_tensor_map_2d(&made->map_d, p->d, p->m, p->n, WM, BN, UNSWIZZLED) ||
        allow_dynamic_smem(made->of->variant->kernel, sizeof(SharedStorage)) ||
        multiprocessor_count(&made->ctas))
        return 1;
    const int tiles_m = ceil_div(p->m, BM);
    const int tiles_n = ceil_div(p->n, BN);
    Work &work = made->work;
    work.tiles = tiles_m * tiles_n;
    work.k_tiles = ceil_div(p->k, BK);
    const int balanced = balanced_workers(work.tiles, made->ctas);
    made->ctas = std::max(1, balanced * made->of->quarters / PART_QUARTERS);
    const int waves = ceil_div(work.tiles, made->ctas);
    work.picoseconds = uint64_t(pace * 1e12 / waves / work.k_tiles);
    work.order = make_order(tiles_m, tiles_n, made->ctas);
    return work.order == nullptr;
}

} // namespace

template <typename Own>
static const variant VARIANT = {Own::SWITCHES, part_kernel<Own>};

// A part that is a kernel of ours: the same one may run on fewer SMs, or on zeros.
template <typename Own>
static part kernel_part(const char *name, const char *what, int quarters = PART_QUARTERS,
                        bool zeros = false) {
    const Switches &own = Own::SWITCHES;
    return {name, what, PART_KERNEL, quarters, zeros, own.store, own.paced, &VARIANT<Own>};
}

static part other_part(const char *name, const char *what, enum part_kind kind) {
    const bool paced = kind == PART_ONE_SM, stores = kind == PART_RUNG;
    return {name, what, kind, PART_QUARTERS, false, stores, paced, nullptr};
}

const part parts[] = {
    other_part("rung", "the rung itself", PART_RUNG),
    kernel_part<Whole>("whole", "the same from the source of the parts"),
    kernel_part<NoStore>("no-store", "D is not stored"),
    kernel_part<NoDram>("no-dram",
                        "nor are operands read from DRAM: few tiles, which the L2 holds"),
    kernel_part<NoLoads>("no-loads", "nor from the L2: the stages stay as they are"),
    kernel_part<MultiplyAlone>("multiply", "nor do producer and consumers meet: wgmma alone"),
    kernel_part<MultiplyN104>("multiply-n104",
                              "wgmma of 104 and 96 columns: A is read twice as often"),
    kernel_part<MultiplyN40>("multiply-n40", "wgmma of 40 columns: A is read five times as often"),
    kernel_part<MultiplyARegisters>("multiply-a-registers",
                                    "wgmma with A in registers: only B is read"),
    kernel_part<MultiplyAlone>("multiply-half", "wgmma alone, on half of the SMs", 2),
    kernel_part<Whole>("whole-three-quarters", "the whole on three quarters of the SMs", 3),
    kernel_part<Whole>("whole-half", "the whole on half of the SMs", 2),
    kernel_part<LoadsPaced>("loads", "the loads alone, through DRAM, at the whole's pace"),
    kernel_part<LoadsL2>("loads-l2", "the loads alone, from the L2, at the whole's pace"),
    kernel_part<Waiting>("waiting", "barriers alone, at the whole's pace: nothing moves"),
    other_part("one-sm", "one warp on one SM", PART_ONE_SM),
    other_part("idle", "nothing runs", PART_IDLE),
    kernel_part<MultiplyAlone>("multiply-zeros", "wgmma alone, on zeros", PART_QUARTERS, true),
    kernel_part<LoadsL2Apart>(
        "loads-l2-apart",
        "the loads alone, from the L2, with a policy that keeps them from merging"),
    other_part("rung-again", "the rung once more: what has drifted since", PART_RUNG),
};
const size_t parts_count = sizeof parts / sizeof parts[0];

int part_prepare(const part *part, const step *rung, const problem *p, double pace, void **state) {
    State *made = new State{};
    *state = made;
    made->of = part;
    made->rung = rung;
    made->busy_nanoseconds = uint64_t(pace * 1e9);
    return part->kind == PART_RUNG     ? rung->prepare(p, &made->rung_state)
           : part->kind == PART_KERNEL ? prepare_kernel(made, p, pace)
                                       : 0;
}

int part_launch(const problem *p, void *state) {
    const State *made = static_cast<const State *>(state);
    if (made->of->kind == PART_RUNG)
        return made->rung->launch(p, made->rung_state);
    if (made->of->kind == PART_ONE_SM)
        return launch(busy, dim3(1), dim3(WARP_THREADS), dim3(1), 0, p->stream,
                      made->busy_nanoseconds);
    return launch(made->of->variant->kernel, dim3(made->ctas), dim3(THREADS), dim3(1),
                  sizeof(SharedStorage), p->stream, made->map_a, made->map_b, made->map_d,
                  made->work);
}

void part_release(void *state) {
    State *made = static_cast<State *>(state);
    if (made == nullptr)
        return;
    if (made->rung_state != nullptr)
        made->rung->release(made->rung_state);
    release_array(const_cast<scheduled_tile *>(made->work.order));
    delete made;
}

// Bytes that TMA requests: of tiles at D's edge only those inside; zeros fill the rest.
static double loaded_bytes(const problem *p, const State *made, Loads loads) {
    if (loads == Loads::NOTHING)
        return 0;
    const int tiles_m = ceil_div(p->m, BM), tiles_n = ceil_div(p->n, BN);
    const int tiles = loads == Loads::ONCE ? made->ctas : made->work.tiles; // their CTAs' first
    const int k_tiles = loads == Loads::ONCE ? STAGES : made->work.k_tiles;
    double rows = 0;
    for (int i = 0; i < tiles; ++i) {
        const tile_coordinate own = grouped_tile(i, tiles_m, tiles_n, GROUP);
        const tile_coordinate at = is_few(loads) ? few_tile(own) : own;
        rows += std::min(BM, p->m - at.m * BM) + std::min(BN, p->n - at.n * BN);
    }
    return rows * k_tiles * BK * sizeof(bf16);
}

part_counts part_count(const problem *p, const void *state) {
    const State *made = static_cast<const State *>(state);
    part_counts counts = {};
    if (made->of->kind != PART_KERNEL)
        return counts;
    const Switches &part = made->of->variant->switches;
    const double k_tiles = double(made->work.tiles) * made->work.k_tiles; // of all CTAs
    if (part.multiply != Multiply::NOTHING) { // zeros beyond D's edge are multiplied too
        const int reads_of_a = part.multiply == Multiply::N40              ? 5
                               : part.multiply == Multiply::N104           ? 2
                               : part.multiply == Multiply::A_IN_REGISTERS ? 0
                                                                           : 1;
        counts.flop = 2.0 * BM * BN * BK * k_tiles;
        counts.operand_bytes =
            double(BM / WM) * (reads_of_a * WM + BN) * BK * sizeof(bf16) * k_tiles;
    }
    counts.loaded_bytes = loaded_bytes(p, made, part.loads);
    counts.stored_bytes = part.store ? double(p->m) * p->n * sizeof(bf16) : 0;
    counts.exchanges = part.exchange ? k_tiles : 0;
    counts.operands_in_dram = part.loads == Loads::ALL;
    return counts;
}
