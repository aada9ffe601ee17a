// s04: small M, swapped operands.
//
// A wgmma has 64 rows, whatever it multiplies. Of 16 rows of A three quarters of its work would be
// discarded, and a CTA's loads with it. With the operands swapped, D^T = B * A^T, the rows of a
// wgmma are those of B, of which there are thousands, and its columns are A's rows, 8 at least. The
// accumulators are then of D transposed, and stmatrix transposes them back. Such a product is the
// time in which B is read. If B comes from DRAM and SMs are idle, the next launch doesn't begin
// early: in trials that cost time, and why is open. Expected: 1.3x over s03 at 16 rows.
#include "step.h"
#include "device/dependent_launch.cuh"
#include "device/elect.cuh"
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

    // Of a ping-pong consumer: whether the CTA has no tile after this consumer's.
    DEVICE bool is_last() const { return index - int(gridDim.x) >= work.order.tiles; }
};

template <typename T>
__global__ void __launch_bounds__(T::THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const __grid_constant__ Work work) {
    Storage<T> &smem = dynamic_smem<Storage<T>>();
    const int warpgroup = warpgroup_index();
    const int turns = warpgroup > 0 ? T::TURNS : 1;

    // Three warps of the producer's warpgroup, so that the launch's start is shorter.
    if (threadIdx.x == 0) {
        launch_dependents();
        init_full(smem);
    }
    if (threadIdx.x == WARP_THREADS)
        init_empty(smem);
    if (threadIdx.x == 2 * WARP_THREADS) {
        tensor_map_prefetch(&map_a);
        tensor_map_prefetch(&map_b);
        tensor_map_prefetch(&map_d);
    }
    Ring<T::STAGES> ring; // it continues from piece to piece
    Schedule<T> schedule = {work, int(blockIdx.x + warpgroup / 2 * (T::TURNS - 1) * gridDim.x)};
    Piece piece;
    bool more = schedule.next(piece, turns); // while the barriers are made
    __syncthreads();                         // they are ready before anyone arrives on them

    if (warpgroup == 0) {
        if (T::CONSUMERS > 1)
            setmaxnreg_dec<PRODUCER_REGISTERS>();
        // Waits for the previous launch, which may still write A or B, or read or write D. The
        // consumers store only what depends on these loads, so they need no wait of their own.
        wait_for_launch_before();
        const Operand a = {&map_a, T::SWAP ? work.out.n : work.out.m, work.again_a};
        const Operand b = {&map_b, T::SWAP ? work.out.m : work.out.n, work.again_b};
        if (warp_index() == 0 && elect_one()) // the compiler knows that it is one thread
            for (; more; more = schedule.next(piece, turns))
                load_tile(smem, a, b, piece, ring);
        return; // here: if its threads went on, the loop's values would not be uniform
    } else {
        if (T::CONSUMERS > 1)
            setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        int turn = consumer == 0; // the parity to wait for: consumer 0 has the first turn at once
        ring.skip(consumer * (T::TURNS - 1) * work.k_tiles);
        for (; more; more = schedule.next(piece, turns)) {
            // Waits for the other consumer: before, the parity of `full` may match an older phase.
            if (T::TURNS > 1) {
                mbarrier_wait(&smem.turn[consumer], turn);
                // All threads have seen it before one of them hands it on and it comes back.
                named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS);
                turn ^= 1;
            }
            float acc[T::BLOCKS][T::MMA_N / 2];
            multiply_tile(acc, smem, consumer, piece.k_tiles, ring);
            // After the CTA's last tile the ring has room for D, if that tile's k-tiles have filled
            // it: then the other consumer has read what it held.
            const bool in_ring = T::TURNS > 1 && piece.k_tiles >= T::STAGES && schedule.is_last();
            for (int block = 0; block < T::BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, piece, block, in_ring);
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
    kernel<Tile<128, 128, BY_ROWS, SWAPPED>>,
    kernel<Tile<64, 64, ALONE, SWAPPED>>,
    kernel<Tile<64, 32, ALONE, SWAPPED>>,
    kernel<Tile<64, 16, ALONE, SWAPPED>>,
};
constexpr Family FAMILY = {KERNELS, std::size(KERNELS)};

static tile_plan choose(const problem *p) { return cheapest_plan(FAMILY, p, tile_cost); }
static step_tile tile_of(int kernel) { return family_tile(FAMILY, kernel); }
static int kernel_of(const problem *p) { return choose(p).kernel; }

struct State : TileLaunch {
    int prepare(const problem *p) {
        if (plan_launch(this, FAMILY, choose(p), p))
            return 1;
        late = !fits_l2 && idles;
        // DRAM is read 256 bytes at a time also where an operand is read once.
        promotes |= plan.tiles_m == 1 || plan.tiles_n == 1;
        return make_launch(this, p);
    }
};

static const step s04 = {
    .name = "s04",
    .idea = "small M, swapped operands",
    .computes = GEMM_BF16,
    .launches_early = true,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .kernels = FAMILY.count,
    .tile_of = tile_of,
    .kernel_of = kernel_of,
};

int main(int argc, char **argv) { return run_step<State>(s04, argc, argv); }
