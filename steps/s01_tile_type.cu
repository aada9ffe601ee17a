// s01, from v17: a tile is a type.
//
// v17 is made for one shape: its tile of 256 x 200 leaves SMs idle wherever D has fewer than 132 of
// them, or a few more than a multiple of that. Here the tile is a type, Tile<BM, BN>, from which
// the ring's depth, the blocks of accumulators and the staging memory follow, and the kernel is a
// template over it. What v01 to v17 have taught, the ring and its roles, is in pipeline.cuh. Of
// three tiles the host takes the one with the fewest waves times its area. Expected: 2x at 1024
// cubed, 1.4x at 2048, nothing at 8192.
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
    int index = blockIdx.x; // in the order
    bool backwards = false; // every other tile of this CTA

    // The next piece; false: there are no more.
    DEVICE bool next(Piece &piece) {
        if (index >= work.order.tiles)
            return false;
        const tile_coordinate tile = ordered_tile(&work.order, index);
        piece = {tile.m, tile.n, 0, work.k_tiles, backwards};
        index += gridDim.x;
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

    if (threadIdx.x == 0) {
        launch_dependents();
        init_full(smem);
        init_empty(smem);
    }
    __syncthreads(); // the barriers are ready before anyone arrives on them

    Ring<T::STAGES> ring; // it continues from piece to piece
    Schedule<T> schedule = {work};
    Piece piece;
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        // Waits for the previous launch, which may still write A or B, or read or write D. The
        // consumers store only what depends on these loads, so they need no wait of their own.
        wait_for_launch_before();
        const Operand a = {&map_a, work.out.m, work.again_a};
        const Operand b = {&map_b, work.out.n, work.again_b};
        if (threadIdx.x == 0)
            while (schedule.next(piece))
                load_tile(smem, a, b, piece, ring);
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        while (schedule.next(piece)) {
            float acc[T::BLOCKS][T::MMA_N / 2];
            multiply_tile(acc, smem, consumer, piece.k_tiles, ring);
            for (int block = 0; block < T::BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, piece, block);
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
};
constexpr Family FAMILY = {KERNELS, std::size(KERNELS)};

// What a plan costs: waves of tiles, times the area of a tile.
static double cost(const tile_kind *kind, const tile_plan *plan, int) {
    return double(plan->waves) * kind->rows * kind->columns;
}

static tile_plan choose(const problem *p) { return cheapest_plan(FAMILY, p, cost); }
static step_tile tile_of(int kernel) { return family_tile(FAMILY, kernel); }
static int kernel_of(const problem *p) { return choose(p).kernel; }

struct State : TileLaunch {
    int prepare(const problem *p) {
        return plan_launch(this, FAMILY, choose(p), p) || make_launch(this, p);
    }
};

static const step s01 = {
    .name = "s01",
    .idea = "a tile is a type",
    .below = "v17",
    .computes = GEMM_BF16,
    .launches_early = true,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .kernels = FAMILY.count,
    .tile_of = tile_of,
    .kernel_of = kernel_of,
};

int main(int argc, char **argv) { return run_step<State>(s01, argc, argv); }
