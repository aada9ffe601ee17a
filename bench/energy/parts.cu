// v16's kernel in parts: each leaves some of its work out, at compile time, so that the switches
// cost nothing. What none of them leaves out is v16's own: its file is included as it is, and its
// main is never called. The parts are the kernels of one step, which the harness runs as a rung's;
// they compute no D, so their sums have to be read in another way: see read_sums().
#define main rung_main
#include "../../steps/v16_tall_tile.cu"
#undef main

#include <algorithm>
#include <iterator>
#include <stdio.h>
#include <stdlib.h>

#include "energy/device.cuh"

namespace {

// A wave of 132 CTAs has 16.5 columns of tiles and the rows of one group, or of two where one ends.
// These few tiles are 15 MiB of A and B: each half of the L2 can hold them.
constexpr int FEW_ROWS = 2 * GROUP;
constexpr int FEW_COLUMNS = 17;
constexpr int FEW_K_TILES = 16;

// What the producer loads.
enum class Loads {
    NOTHING,   // stages are handed over empty
    ONCE,      // each stage once; from then on it is handed over as it is
    FEW,       // always from the same few tiles, as often shared as in the GEMM: the L2 has them
    FEW_APART, // the same, but each CTA's requests reach the L2
    ALL        // the GEMM's
};

DEVICE constexpr bool is_few(Loads loads) { return loads == Loads::FEW || loads == Loads::FEW_APART; }

// How the consumers multiply. With fewer columns per instruction A is read more often.
enum class Multiply { NOTHING, N200, N104, N40, A_IN_REGISTERS };

struct Switches {
    Loads loads;
    Multiply multiply;
    bool exchange; // producer and consumers synchronise for each k-tile
    bool paced;    // the producer hands over no stage before its time
};

// Each part's switches, as a type: nvcc cannot name a kernel by a structure's value.
template <Loads LOADS, Multiply MULTIPLY, bool EXCHANGE = true, bool PACED = false>
struct Part {
    static constexpr Switches SWITCHES = {LOADS, MULTIPLY, EXCHANGE, PACED};
};
struct NoStore : Part<Loads::ALL, Multiply::N200> {};
struct NoDram : Part<Loads::FEW, Multiply::N200> {};
struct NoLoads : Part<Loads::ONCE, Multiply::N200> {};
struct MultiplyAlone : Part<Loads::ONCE, Multiply::N200, false> {};
struct MultiplyN104 : Part<Loads::ONCE, Multiply::N104, false> {};
struct MultiplyN40 : Part<Loads::ONCE, Multiply::N40, false> {};
struct MultiplyARegisters : Part<Loads::ONCE, Multiply::A_IN_REGISTERS, false> {};
struct LoadsPaced : Part<Loads::ALL, Multiply::NOTHING, true, true> {};
struct LoadsL2 : Part<Loads::FEW, Multiply::NOTHING, true, true> {};
struct LoadsL2Apart : Part<Loads::FEW_APART, Multiply::NOTHING, true, true> {};
struct Waiting : Part<Loads::NOTHING, Multiply::NOTHING, true, true> {};

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
DEVICE tile_coordinate few_tile(tile_coordinate tile) {
    tile.m %= FEW_ROWS;
    tile.n %= FEW_COLUMNS;
    return tile;
}

// Loads one operand's part of a stage, as v16 does, or so that requests don't merge on their way.
template <Loads LOADS>
DEVICE void load_part(bf16 *tile, const TensorMap *map, int k, int row, uint64_t *full,
                      bool again) {
    if (LOADS == Loads::FEW_APART)
        tma_load_2d_hint(tile, map, k, row, full, evict_normal_policy());
    else
        load_operand(tile, map, k, row, full, again);
}

// Starts the two loads of a stage; the consumers wait for their bytes.
template <Loads LOADS>
DEVICE void load_stage(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                       int stage, const scheduled_tile &tile, int k) {
    uint64_t *full = &smem.full[stage];
    mbarrier_arrive_expect_tx(full, sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
    load_part<LOADS>(smem.a[stage], map_a, k, tile.at.m * BM, full, tile.row_again);
    load_part<LOADS>(smem.b[stage], map_b, k, tile.at.n * BN, full, tile.column_again);
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
DEVICE void consume(SharedStorage &smem, int consumer, const Work &work) {
    Place place;
    Fragments fragments = {};
    if (!PART.exchange) // no thread waits later on
        for (int stage = 0; stage < STAGES; ++stage)
            mbarrier_wait(&smem.full[stage], 0);
    if constexpr (PART.multiply == Multiply::A_IN_REGISTERS)
        for (int i = 0; i < FRAGMENTS; ++i)
            fragments[i] = load_fragment_a(&smem.a[0][consumer * BLOCKS * WM * BK], i * MMA_K);
    for (int i = blockIdx.x; i < work.tiles; i += gridDim.x) {
        float acc[BLOCKS][BN / 2];
        consume_tile<PART>(acc, smem, consumer, work.k_tiles, fragments, place);
        if constexpr (PART.multiply != Multiply::NOTHING)
            read_sums(acc, work.nowhere);
    }
}

template <typename Own>
__global__ void __launch_bounds__(THREADS, 1)
    part_kernel(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                const Work work) {
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
        setmaxnreg_dec<PART.multiply == Multiply::A_IN_REGISTERS ? 24 : PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            produce<PART>(smem, &map_a, &map_b, work);
    } else {
        // With A in registers a consumer needs more than v16's.
        setmaxnreg_inc<PART.multiply == Multiply::A_IN_REGISTERS ? 240 : CONSUMER_REGISTERS>();
        consume<PART>(smem, warpgroup - 1, work);
    }
}

// One warp that polls the clock until the time is over.
__global__ void __launch_bounds__(WARP_THREADS) busy(uint64_t duration) {
    const uint64_t begin = nanoseconds();
    while (nanoseconds() - begin < duration) {
    }
}

// ---- the parts, as kernels of a step

struct PartState;
using Launch = int(const problem *p, const PartState &made);

struct Kernel {
    const char *name;
    const char *what; // in words
    bool paced;       // takes the time that ENERGY_PACE_SECONDS in the environment says
    Launch *launch;
    void (*kernel)(TensorMap, TensorMap, Work) = nullptr; // with its switches, if it is ours
    int quarters = 4;   // of the CTAs that v16 would have; the others are not launched
    bool zeros = false; // the operands are zeros
};

struct PartState {
    const Kernel *part;
    void *rung;  // v16's state
    bf16 *zeros; // instead of A and B
    double pace; // seconds of a launch
    Work work;
};

int launch_rung(const problem *p, const PartState &made) { return v16.launch(p, made.rung); }

int launch_kernel(const problem *p, const PartState &made) {
    const State &rung = *static_cast<const State *>(made.rung);
    return launch(made.part->kernel, dim3(rung.ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage),
                  p->stream, rung.map_a, rung.map_b, made.work);
}

int launch_busy(const problem *p, const PartState &made) {
    return launch(busy, dim3(1), dim3(WARP_THREADS), dim3(1), 0, p->stream,
                  uint64_t(made.pace * 1e9));
}

int launch_nothing(const problem *p, const PartState &) { return sleep_on_host(p->stream); }

template <typename Own>
constexpr Kernel kernel_part(const char *name, const char *what, int quarters = 4,
                             bool zeros = false) {
    return {name, what, Own::SWITCHES.paced, launch_kernel, part_kernel<Own>, quarters, zeros};
}

// In the order in which they run; what no budget needs comes last.
const Kernel PARTS[] = {
    {"whole", "the whole kernel: v16", false, launch_rung},
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
    {"whole-three-quarters", "the whole on three quarters of the SMs", false, launch_rung, nullptr,
     3},
    {"whole-half", "the whole on half of the SMs", false, launch_rung, nullptr, 2},
    kernel_part<LoadsPaced>("loads", "the loads alone, through DRAM, at the whole's pace"),
    kernel_part<LoadsL2>("loads-l2", "the loads alone, from the L2, at the whole's pace"),
    kernel_part<Waiting>("waiting", "barriers alone, at the whole's pace: nothing moves"),
    {"one-sm", "one warp on one SM", true, launch_busy},
    {"idle", "nothing runs", false, launch_nothing},
    kernel_part<MultiplyAlone>("multiply-zeros", "wgmma alone, on zeros", 4, true),
    kernel_part<LoadsL2Apart>(
        "loads-l2-apart",
        "the loads alone, from the L2, with a policy that keeps them from merging"),
};

// The step: a tab between a part's number, its name, whether it is paced, and what it is.
int list_parts(const problem *) {
    for (const Kernel &part : PARTS)
        printf("%d\t%s\t%s\t%s\n", int(&part - PARTS) + 1, part.name, part.paced ? "paced" : "",
               part.what);
    return 0;
}

int no_choice(const problem *) { return -1; }

// v16's schedule on fewer SMs.
int use_fewer_ctas(State &rung, const problem *p, int quarters) {
    rung.ctas = std::max(1, rung.ctas * quarters / 4);
    release_array(rung.order);
    rung.order = make_order(ceil_div(p->m, BM), ceil_div(p->n, BN), rung.ctas);
    return rung.order == nullptr;
}

int prepare_part(const problem *p, void **state) {
    if (p->kernel == 0) {
        fprintf(stderr, "say with --kernel which part; --explain lists them\n");
        return 1;
    }
    const Kernel &part = PARTS[p->kernel - 1];
    PartState *made = new PartState{};
    *state = made;
    made->part = &part;
    const char *pace = getenv("ENERGY_PACE_SECONDS");
    made->pace = pace == nullptr ? 0 : atof(pace);
    if (part.paced && made->pace <= 0) {
        fprintf(stderr, "%s: say in ENERGY_PACE_SECONDS how long a launch takes\n", part.name);
        return 1;
    }
    problem operands = *p;
    if (part.zeros) {
        if (make_zeros(&made->zeros, size_t(std::max(p->m, p->n)) * p->k, p->stream))
            return 1;
        operands.a = operands.b = made->zeros;
    }
    if (v16.prepare(&operands, &made->rung))
        return 1;
    State &rung = *static_cast<State *>(made->rung);
    if (part.quarters < 4 && use_fewer_ctas(rung, p, part.quarters))
        return 1;
    Work &work = made->work;
    work.order = rung.order;
    work.tiles = rung.tiles;
    work.k_tiles = ceil_div(p->k, BK);
    work.picoseconds = uint64_t(made->pace * 1e12 / ceil_div(work.tiles, rung.ctas) / work.k_tiles);
    return part.kernel != nullptr && allow_dynamic_smem(part.kernel, sizeof(SharedStorage));
}

int launch_part(const problem *p, void *state) {
    const PartState &made = *static_cast<const PartState *>(state);
    return made.part->launch(p, made);
}

void release_part(void *state) {
    PartState *made = static_cast<PartState *>(state);
    if (made->rung != nullptr)
        v16.release(made->rung);
    if (made->zeros != nullptr)
        release_array(made->zeros);
    delete made;
}

} // namespace

static const step parts = {
    .name = "v16-parts",
    .idea = "the parts of v16, of which each takes energy",
    .below = "v16",
    .computes = GEMM_BF16,
    .computes_nothing = true,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = 8,
    .multiple_k = 8,
    .stages = STAGES,
    .kernels = int(std::size(PARTS)),
    .kernel_of = no_choice,
    .explain = list_parts,
    .prepare = prepare_part,
    .launch = launch_part,
    .release = release_part,
};

int main(int argc, char **argv) { return step_main(&parts, argc, argv); }
