// v16's kernel in parts, each with less of its work, chosen at compile time, so that the choice
// costs nothing. What no part leaves out is v16's own: its file is included, and its main is never
// called. The parts are the kernels of one step, which the harness launches and times as a rung's.
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

// What the producer loads. All but KEPT: producer and consumers synchronise for each k-tile.
enum Loads {
    NO_LOADS,  // stages are handed over empty
    KEPT,      // each stage once; no consumer hands it back
    ONCE,      // each stage once; from then on it is handed over as it is
    FEW,       // always from the same few tiles, as often shared as in the GEMM: the L2 has them
    FEW_APART, // the same, but each CTA's requests reach the L2
    ALL        // the GEMM's
};

// How the consumers multiply: the columns of a wgmma; with fewer A is read more often. Without
// wgmmas the producer hands over no stage before its time: the part is paced.
enum Multiply { NO_WGMMAS, A_IN_REGISTERS, N40 = 40, N104 = 104, N200 = 200 };

// What both sides of the ring need to know.
struct Work {
    grouped_order order;
    int k_tiles;
    uint64_t picoseconds; // of a k-tile, where it is paced
    float *nowhere;       // always null, which only the host knows
};

// The producer, one thread: hands over the stages of its tiles.
template <Loads LOADS, bool PACE>
DEVICE void produce(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                    const Work &work) {
    constexpr bool few = LOADS == FEW || LOADS == FEW_APART; // CTAs share them as in the GEMM
    Ring<STAGES> ring;
    const uint64_t begin = PACE ? nanoseconds() : 0;
    int passed = 0; // k-tiles
    for (int i = blockIdx.x; i < work.order.tiles; i += gridDim.x) {
        const tile_coordinate tile = ordered_tile(&work.order, i);
        const bool backwards = i / gridDim.x % 2; // every other tile of this CTA
        const int row = (few ? tile.m % FEW_ROWS : tile.m) * BM;
        const int column = (few ? tile.n % FEW_COLUMNS : tile.n) * BN;
        for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile, ++passed) {
            if (LOADS == KEPT && passed == STAGES)
                return;
            if (PACE)
                wait_until(begin + passed * work.picoseconds / 1000);
            uint64_t *full = &smem.full[ring.stage];
            bf16 *a = smem.a[ring.stage], *b = smem.b[ring.stage];
            const int at = backwards ? work.k_tiles - 1 - k_tile : k_tile;
            const int k = (few ? at % FEW_K_TILES : at) * BK;
            // Waits for the consumers: they are done with this stage.
            mbarrier_wait(&smem.empty[ring.stage], ring.phase ^ 1);
            if (LOADS == NO_LOADS || (LOADS == ONCE && passed >= STAGES)) {
                mbarrier_arrive(full); // no bytes to wait for
            } else {
                // The consumers wait for these bytes.
                mbarrier_arrive_expect_tx(full, sizeof(smem.a[0]) + sizeof(smem.b[0]));
                if (LOADS == FEW_APART) {
                    tma_load_2d_hint(a, map_a, k, row, full, evict_normal_policy());
                    tma_load_2d_hint(b, map_b, k, column, full, evict_normal_policy());
                } else {
                    tma_load_2d(a, map_a, k, row, full);
                    tma_load_2d_hint(b, map_b, k, column, full, evict_first_policy());
                }
            }
            ring.next();
        }
    }
}

// A block of accumulators (+)= 16 columns of A times the rows of B, in wgmmas of WIDTH columns,
// from FIRST on. 8 columns are 4 numbers of a thread, for any width of the wgmma.
template <int WIDTH, int FIRST = 0>
DEVICE void multiply_columns(float (&acc)[BN / 2], uint64_t a, const bf16 *b, int kk,
                             bool accumulate) {
    constexpr int N = WIDTH < BN - FIRST ? WIDTH : BN - FIRST;
    float(&columns)[N / 2] = *reinterpret_cast<float(*)[N / 2]>(&acc[FIRST / 2]);
    wgmma<N>(columns, a, advance_k(matrix_descriptor(&b[FIRST * BK]), kk), accumulate);
    if constexpr (FIRST + N < BN)
        multiply_columns<WIDTH, FIRST + N>(acc, a, b, kk, accumulate);
}

// A consumer's fragments of A in registers, used alternately: the same for both blocks and every
// stage, since more do not fit beside the accumulators.
constexpr int FRAGMENTS = 2;
using Fragments = FragmentA[FRAGMENTS];

// Multiplies one stage.
template <Multiply MULTIPLY>
DEVICE void multiply_stage(float (&acc)[BLOCKS][BN / 2], SharedStorage &smem, int stage,
                           int consumer, const Fragments &fragments, bool accumulate) {
    const bf16 *b = smem.b[stage];
#pragma unroll
    for (int kk = 0; kk < BK; kk += MMA_K)
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block) {
            const bool add = accumulate || kk > 0;
            const bf16 *rows = &smem.a[stage][(consumer * WM + block * MMA_M) * BK];
            if constexpr (MULTIPLY == A_IN_REGISTERS)
                wgmma_a_registers(acc[block], fragments[kk / MMA_K % FRAGMENTS],
                                  advance_k(matrix_descriptor(b), kk), add);
            else
                multiply_columns<MULTIPLY>(acc[block], advance_k(matrix_descriptor(rows), kk), b,
                                           kk, add);
        }
}

// Reads a tile's sums, since no epilogue does. ptxas removes wgmmas whose sums are never read,
// although their asm is volatile, and keeps the loop around them. It cannot know that `nowhere` is
// null, so all of them stay; what runs is one branch per tile. tests/test_nvcc.py counts them.
DEVICE void read_sums(const float (&acc)[BLOCKS][BN / 2], float *nowhere) {
    constexpr int COUNT = BN / 2;
    if (nowhere == nullptr)
        return;
#pragma unroll
    for (int i = 0; i < BLOCKS * COUNT; ++i)
        nowhere[i * THREADS + threadIdx.x] = acc[i / COUNT][i % COUNT];
}

// A consumer warpgroup's tiles.
template <Multiply MULTIPLY, bool EXCHANGE>
DEVICE void consume(SharedStorage &smem, int consumer, const Work &work) {
    Ring<STAGES> ring;
    Fragments fragments = {};
    if (!EXCHANGE) // no thread waits later on
        for (int stage = 0; stage < STAGES; ++stage)
            mbarrier_wait(&smem.full[stage], 0);
    if constexpr (MULTIPLY == A_IN_REGISTERS)
        for (int i = 0; i < FRAGMENTS; ++i)
            fragments[i] = load_fragment_a(&smem.a[0][consumer * WM * BK], i * MMA_K);
    for (int i = blockIdx.x; i < work.order.tiles; i += gridDim.x) {
        float acc[BLOCKS][BN / 2];
        for (int k_tile = 0; k_tile < work.k_tiles; ++k_tile) {
            if (EXCHANGE)
                mbarrier_wait(&smem.full[ring.stage], ring.phase); // for the producer
            if constexpr (MULTIPLY != NO_WGMMAS) {
                wgmma_fence(); // orders earlier accesses to the sums before these wgmmas
                multiply_stage<MULTIPLY>(acc, smem, ring.stage, consumer, fragments, k_tile > 0);
                wgmma_commit();
                wgmma_wait<0>(acc);
            } else {
                // A wgmma holds the four warps together. Without one, the warp that hands stages
                // back could run ahead: a stage would be full twice before another warp has seen it
                // full once, and that warp would wait for ever.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
            }
            if (EXCHANGE)
                release_stage(smem, ring.stage); // the wgmmas have read it
            ring.next();
        }
        if constexpr (MULTIPLY != NO_WGMMAS)
            read_sums(acc, work.nowhere);
    }
}

template <Loads LOADS, Multiply MULTIPLY>
__global__ void __launch_bounds__(THREADS, 1)
    part_kernel(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                const Work work) {
    constexpr bool more = MULTIPLY == A_IN_REGISTERS; // a consumer needs more registers than v16's
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
        setmaxnreg_dec<more ? 24 : PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            produce<LOADS, MULTIPLY == NO_WGMMAS>(smem, &map_a, &map_b, work);
    } else {
        setmaxnreg_inc<more ? 240 : CONSUMER_REGISTERS>();
        consume<MULTIPLY, LOADS != KEPT>(smem, warpgroup - 1, work);
    }
}

// One warp of one CTA polls the clock until the time of all k-tiles is over.
__global__ void __launch_bounds__(THREADS, 1)
    busy(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, const Work work) {
    const uint64_t duration = work.picoseconds * work.order.tiles * work.k_tiles / 1000;
    const uint64_t begin = nanoseconds();
    while (threadIdx.x < WARP_THREADS && nanoseconds() - begin < duration) {
    }
}

// ---- the parts, as kernels of a step

using Kernel = void(TensorMap, TensorMap, Work);

enum Flags { PACED = 1, ZEROS = 2, IDLE = 4 };

struct Part {
    const char *name;
    const char *what;   // in words
    Kernel *kernel;     // nullptr: v16's
    unsigned flags = 0; // PACED: it takes as long as ENERGY_PACE_SECONDS in the environment says;
                        // ZEROS: the operands are zeros; IDLE: nothing is launched
    int quarters = 4;   // of v16's CTAs, but at least one: the others are not launched
};

// In the order in which they run; what no budget needs comes last.
const Part PARTS[] = {
    {"whole", "the whole kernel: v16", nullptr},
    {"no-store", "D is not stored", part_kernel<ALL, N200>},
    {"no-dram", "nor are operands read from DRAM: few tiles, which the L2 holds",
     part_kernel<FEW, N200>},
    {"no-loads", "nor from the L2: the stages stay as they are", part_kernel<ONCE, N200>},
    {"multiply", "nor do producer and consumers meet: wgmma alone", part_kernel<KEPT, N200>},
    {"multiply-n104", "wgmma of 104 and 96 columns: A is read twice as often",
     part_kernel<KEPT, N104>},
    {"multiply-n40", "wgmma of 40 columns: A is read five times as often", part_kernel<KEPT, N40>},
    {"multiply-a-registers", "wgmma with A in registers: only B is read",
     part_kernel<KEPT, A_IN_REGISTERS>},
    {"multiply-half", "wgmma alone, on half of the SMs", part_kernel<KEPT, N200>, 0, 2},
    {"whole-three-quarters", "the whole on three quarters of the SMs", nullptr, 0, 3},
    {"whole-half", "the whole on half of the SMs", nullptr, 0, 2},
    {"loads", "the loads alone, through DRAM, at the whole's pace", part_kernel<ALL, NO_WGMMAS>,
     PACED},
    {"loads-l2", "the loads alone, from the L2, at the whole's pace", part_kernel<FEW, NO_WGMMAS>,
     PACED},
    {"waiting", "barriers alone, at the whole's pace: nothing moves",
     part_kernel<NO_LOADS, NO_WGMMAS>, PACED},
    {"one-sm", "one warp on one SM", busy, PACED, 0},
    {"idle", "nothing runs", nullptr, IDLE},
    {"multiply-zeros", "wgmma alone, on zeros", part_kernel<KEPT, N200>, ZEROS},
    {"loads-l2-apart", "the loads alone, from the L2, with a policy that keeps them from merging",
     part_kernel<FEW_APART, NO_WGMMAS>, PACED},
};

// A tab between a part's number, its name, and what it is.
int list_parts(const problem *) {
    for (const Part &part : PARTS)
        printf("%d\t%s\t%s\n", int(&part - PARTS) + 1, part.name, part.what);
    return 0;
}

struct PartState {
    const Part *part;
    State rung;  // v16's, with the number of CTAs of the part
    bf16 *zeros; // instead of A and B
    Work work;

    int prepare(const problem *p) {
        const char *said = getenv("ENERGY_PACE_SECONDS");
        const double pace = said != nullptr ? atof(said) : 0;
        if (p->kernel == 0 || (PARTS[p->kernel - 1].flags & PACED && pace <= 0)) {
            fputs("say which part with --kernel (--explain lists them), and in the environment's "
                  "ENERGY_PACE_SECONDS how long a launch of a paced one takes\n",
                  stderr);
            return 1;
        }
        part = &PARTS[p->kernel - 1];
        if (prepare_rung(*p))
            return 1;
        const int k_tiles = ceil_div(p->k, BK), waves = ceil_div(rung.order.tiles, rung.ctas);
        const double of_k_tile = pace / waves / k_tiles;
        work = {rung.order, k_tiles, uint64_t(of_k_tile * 1e12), nullptr};
        return part->kernel != nullptr && allow_dynamic_smem(part->kernel, sizeof(SharedStorage));
    }

    int prepare_rung(problem p) {
        if (part->flags & ZEROS) {
            const size_t count = size_t(std::max(p.m, p.n)) * p.k;
            if (allocate_array(&zeros, count) ||
                launch_check(cudaMemsetAsync(zeros, 0, count * sizeof(bf16), p.stream),
                             "zeroing device memory"))
                return 1;
            p.a = p.b = zeros;
        }
        if (rung.prepare(&p))
            return 1;
        if (part->quarters != 4)
            rung.ctas = std::max(1, rung.ctas * part->quarters / 4);
        return 0;
    }

    int start(const problem *p) const {
        if (part->flags & IDLE)
            return sleep_on_host(p->stream);
        if (part->kernel == nullptr)
            return rung.start(p);
        return launch(part->kernel, dim3(rung.ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage),
                      p->stream, rung.map_a, rung.map_b, work);
    }

    ~PartState() { release_array(zeros); }
};

} // namespace

static const step parts = {
    .name = "v16-parts",
    .idea = "v16 with less and less of its work",
    .below = "v16",
    .computes = GEMM_BF16,
    .computes_nothing = true,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 256}, // one tile fills the ring
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
    .kernels = int(std::size(PARTS)),
    .kernel_of = [](const problem *) { return -1; }, // --kernel has to say
    .explain = list_parts,
};

int main(int argc, char **argv) { return run_step<PartState>(parts, argc, argv); }
