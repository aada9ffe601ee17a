// s06: 2-D multicast.
//
// In a cluster of 2 x 2 CTAs each tile's rows of A are those of its neighbour beside it, and its
// rows of B those of its neighbour above: of each operand a CTA loads half for both. So the L2
// delivers half of the bytes. At 8192 cubed that gains nothing (v08), because a large tile needs
// few bytes for its multiplications. Small tiles need many, and so do rows that are no multiple of
// 128 bytes apart, of which the L2 delivers less in a cycle. The CTAs of all parts of such tiles
// are one larger cluster. Multicast doesn't depend on where CTAs are; without it an early launch,
// which scatters them over the chip, costs a long product more than it gains, so that is launched
// as usual. Expected: 1.1x over s05 where k and n are multiples of 8 only.
#include "step.h"
#include "device/cluster_sums.cuh"
#include "device/dependent_launch.cuh"
#include "device/elect.cuh"
#include "device/pipeline.cuh"
#include "device/registers.cuh"
#include "device/tile_launch.cuh"
#include "device/wgmma.cuh"

constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
constexpr double LONG_PRODUCT = 50e3; // cycles, found in trials on an H100: see prepare()

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
        const Place<T> place;
        piece = {tile.m * T::ABOVE + place.above, tile.n * T::BESIDE + place.beside, 0,
                 work.k_tiles, backwards};
        if (T::GATHERS && work.parts.value > 1) {
            const int part = cluster_cta_rank() / T::CTAS;
            piece.first = divided(work.k_tiles * part, work.parts);
            piece.k_tiles = divided(work.k_tiles * (part + 1), work.parts) - piece.first;
        }
        index += turns * cluster_count();
        backwards = !backwards;
        return true;
    }

    // Of a ping-pong consumer: whether the CTA has no tile after this consumer's.
    DEVICE bool is_last() const { return index - cluster_count() >= work.order.tiles; }
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
    Schedule<T> schedule = {work,
                            cluster_index() + warpgroup / 2 * (T::TURNS - 1) * cluster_count()};
    Piece piece;
    bool more = schedule.next(piece, turns); // while the barriers are made
    // They are ready, the cluster's as well, before anyone arrives on them.
    if (T::CTAS > 1)
        cluster_sync_relaxed();
    else
        __syncthreads();

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
            if constexpr (T::GATHERS)
                if (work.parts.value > 1) {
                    gather(smem, acc, piece, consumer, work.parts.value, work.out);
                    break;
                }
            // After the CTA's last tile the ring has room for D, if that tile's k-tiles have filled
            // it: then the other consumer has read what it held.
            const bool in_ring = T::TURNS > 1 && piece.k_tiles >= T::STAGES && schedule.is_last();
            for (int block = 0; block < T::BLOCKS; ++block)
                store_tile(smem, &map_d, acc[block], consumer, piece, block, in_ring);
            ring.skip((T::TURNS - 1) * piece.k_tiles); // the other consumer's
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
        // No CTA leaves while another one may still arrive on its barriers, or read its sums.
        if (T::CTAS > 1 || (T::GATHERS && work.parts.value > 1))
            cluster_sync_relaxed();
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
    kernel<Tile<256, 160, BY_ROWS, AS_THEY_ARE, 1, 2>>,
    kernel<Tile<128, 176, PING_PONG, AS_THEY_ARE, 1, 2>>,
    kernel<Tile<128, 96, BY_ROWS, AS_THEY_ARE, 2, 2>>,
    kernel<Tile<64, 96, ALONE, AS_THEY_ARE, 1, 4>>,
    kernel<Tile<64, 64, ALONE>>,
    kernel<Tile<128, 128, BY_ROWS, SWAPPED>>,
    kernel<Tile<64, 64, ALONE, SWAPPED>>,
    kernel<Tile<64, 32, ALONE, SWAPPED>>,
    kernel<Tile<64, 16, ALONE, SWAPPED>>,
};
constexpr int FORMS = 2; // of a kernel: whole tiles, and tiles in parts
constexpr Family FAMILY = {KERNELS, std::size(KERNELS) * FORMS, FORMS};

static tile_plan choose(const problem *p) { return cheapest_plan(FAMILY, p, tile_cost); }
static step_tile tile_of(int kernel) { return family_tile(FAMILY, kernel); }
static int kernel_of(const problem *p) { return choose(p).kernel; }

struct State : TileLaunch {
    int prepare(const problem *p) {
        if (plan_launch(this, FAMILY, choose(p), p))
            return 1;
        // CTAs of an early launch start where others end, scattered over the chip. Without
        // multicast, neighbours in the order then read the same lines of the L2 apart, which costs
        // a long product more than it gains at its start.
        late = cluster == 1 && (plan.cost > LONG_PRODUCT || (!fits_l2 && idles));
        // DRAM is read 256 bytes at a time also where an operand is read once.
        promotes |= plan.tiles_m == 1 || plan.tiles_n == 1;
        return make_launch(this, p);
    }
};

static const step s06 = {
    .name = "s06",
    .idea = "2-D multicast",
    .computes = GEMM_BF16,
    .launches_early = true,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 8},
    .kernels = FAMILY.count,
    .tile_of = tile_of,
    .kernel_of = kernel_of,
};

int main(int argc, char **argv) { return run_step<State>(s06, argc, argv); }
