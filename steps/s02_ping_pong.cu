// s02: one consumer, and ping-pong.
//
// Two consumers that share a tile end it together: while they store it, the tensor cores wait. With
// a long k that is little; with k = 256 a tile ends every four k-tiles. In ping-pong each consumer
// has a tile of its own, and one multiplies while the other stores (v15, which gains nothing at
// 8192 cubed, where k is long and a smaller tile costs bandwidth). And where D is small, a tile of
// 64 rows has work for one consumer alone: more CTAs share the product. The cost of a plan now
// counts a tile's end, and loads that take longer than its multiplications. Expected: 1.3x at 8192
// x 8192 x 256 over s01, 1.1x at 512 cubed.
#include "step.h"
#include "device/dependent_launch.cuh"
#include "device/pipeline.cuh"
#include "device/registers.cuh"
#include "device/tile_launch.cuh"
#include "device/wgmma.cuh"

constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;

// The pieces of work of a CTA, one after the other.
template <typename T>
struct Schedule {
    const Work &work;
    int index;              // in the order
    bool backwards = false; // every other tile of this CTA

    // The next piece but for `turns` - 1 others; false: there are no more.
    DEVICE bool next(Piece &piece, int turns) {
        if (index >= work.order.tiles)
            return false;
        const tile_coordinate tile = ordered_tile(&work.order, index);
        piece = {tile.m, tile.n, 0, work.k_tiles, backwards};
        index += turns * gridDim.x;
        backwards = !backwards;
        return true;
    }
};

template <typename T>
__global__ void __launch_bounds__(T::THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const __grid_constant__ Work work) {
    Storage<T> &smem = dynamic_smem<Storage<T>>();
    const int warpgroup = warpgroup_index();
    const int turns = warpgroup > 0 ? T::TURNS : 1;

    if (threadIdx.x == 0) {
        launch_dependents();
        init_full(smem);
        init_empty(smem);
    }
    __syncthreads(); // the barriers are ready before anyone arrives on them

    Ring<T::STAGES> ring; // it continues from piece to piece
    Schedule<T> schedule = {work, int(blockIdx.x + warpgroup / 2 * (T::TURNS - 1) * gridDim.x)};
    Piece piece;
    if (warpgroup == 0) {
        if (T::CONSUMERS > 1)
            setmaxnreg_dec<PRODUCER_REGISTERS>();
        // Waits for the previous launch, which may still write A or B, or read or write D. The
        // consumers store only what depends on these loads, so they need no wait of their own.
        wait_for_launch_before();
        const Operand a = {&map_a, work.out.m, work.again_a};
        const Operand b = {&map_b, work.out.n, work.again_b};
        if (threadIdx.x == 0)
            while (schedule.next(piece, turns))
                load_tile(smem, a, b, piece, ring);
    } else {
        if (T::CONSUMERS > 1)
            setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        int turn = consumer == 0; // the parity to wait for: consumer 0 has the first turn at once
        ring.skip(consumer * (T::TURNS - 1) * work.k_tiles);
        while (schedule.next(piece, turns)) {
            // Waits for the other consumer: before, the parity of `full` may match an older phase.
            if (T::TURNS > 1) {
                mbarrier_wait(&smem.turn[consumer], turn);
                // All threads have seen it before one of them hands it on and it comes back.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
                turn ^= 1;
            }
            float acc[T::BLOCKS][T::MMA_N / 2];
            multiply_tile(acc, smem, consumer, piece.k_tiles, ring);
            for (int block = 0; block < T::BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, piece, block);
            ring.skip((T::TURNS - 1) * piece.k_tiles); // the other consumer's
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

template <typename T>
constexpr Kernel kernel = {gemm<T>, T::KIND, sizeof(Storage<T>)};

static const Kernel KERNELS[] = {
    kernel<Tile<256, 200>>,
    kernel<Tile<128, 256>>,
    kernel<Tile<128, 128>>,
    kernel<Tile<128, 200, PING_PONG>>,
    kernel<Tile<128, 128, PING_PONG>>,
    kernel<Tile<64, 128, ALONE>>,
    kernel<Tile<64, 64, ALONE>>,
};
constexpr Family FAMILY = {KERNELS, std::size(KERNELS)};

constexpr double PORT_BYTES = 90;  // that an SM receives in a cycle
constexpr double STORE_COLUMN = 8; // cycles for 64 accumulators of a column, to D

// The cycles of a plan: waves of tiles, each as long as its multiplications or its loads, and its
// end. In ping-pong a tile's end overlaps with the multiplication of the next one.
static double cost(const tile_kind *kind, const tile_plan *plan, int k) {
    const int turns = kind->ping_pong ? 2 : 1;
    const double k_tile = fmax(kind->rows * kind->columns / 32.0,
                               2.0 * (TILE_K * (kind->rows + kind->columns)) / PORT_BYTES);
    const double multiply = ceil_div(k, TILE_K) * k_tile;
    const double end = kind->rows / 64.0 * kind->columns * turns / kind->consumers * STORE_COLUMN;
    const double tile = turns > 1 ? fmax(multiply, (multiply + end) / 2) : multiply + end;
    return plan->waves * tile + (turns > 1 ? end : 0);
}

static tile_plan choose(const problem *p) { return cheapest_plan(FAMILY, p, cost); }
static step_tile tile_of(int kernel) { return family_tile(FAMILY, kernel); }
static int kernel_of(const problem *p) { return choose(p).kernel; }

struct State : TileLaunch {
    int prepare(const problem *p) {
        return plan_launch(this, FAMILY, choose(p), p) || make_launch(this, p);
    }
};

static const step s02 = {
    .name = "s02",
    .idea = "one consumer, and ping-pong",
    .computes = GEMM_BF16,
    .launches_early = true,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .kernels = FAMILY.count,
    .tile_of = tile_of,
    .kernel_of = kernel_of,
};

int main(int argc, char **argv) { return run_step<State>(s02, argc, argv); }
