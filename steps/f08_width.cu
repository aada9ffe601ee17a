// f08, from f01: a width that fills the waves.
//
// 4096 x 7168 is 576 of f01's tiles: five waves of 132 SMs, and the last is a third full. In tiles
// of 176 columns it is 656, five waves that are all but full. Here the width is a parameter of the
// kernel, and the host takes the one of two for which waves times columns are fewest. Expected: 7 %
// over f01 at 4096 x 7168 x 16384, and no change at 8192^3, where it takes f01's width.
#include "step.h"
#include "device/grouped_order.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/ring.cuh"
#include "device/stmatrix.cuh"
#include "device/tma.cuh"
#include "device/wgmma_e4m3.cuh"

constexpr int BM = 256;
constexpr int NARROW = 176; // BN of the narrow tile
constexpr int WIDE = 200;   // of the wide one
constexpr int BK = 128;
constexpr int STAGES = 3;
constexpr int CONSUMERS = 2;
constexpr int WM = BM / CONSUMERS; // rows of a consumer warpgroup
constexpr int MMA_M = 64;
constexpr int BLOCKS = WM / MMA_M; // of a consumer's rows, MMA_M each
constexpr int MMA_K = 32;
constexpr int GROUP = 8; // rows of tiles in a group of the schedule
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
enum { STAGING_BARRIER = 1 }; // named barriers, one per consumer
static_assert(BK * sizeof(e4m3) == SWIZZLE_BYTES,
              "a row of a tile is one 128-byte row of the swizzle");

template <int BN>
struct SharedStorage {
    alignas(1024) e4m3 a[STAGES][BM * BK];
    alignas(1024) e4m3 b[STAGES][BN * BK];
    alignas(128) bf16 d[CONSUMERS][MMA_M * BN]; // not swizzled: TMA needs 128 bytes
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
template <int BN>
DEVICE void load_tile(SharedStorage<BN> &smem, const TensorMap *map_a, const TensorMap *map_b,
                      int tile_m, int tile_n, int k_tiles, Ring<STAGES> &ring) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const int stage = ring.stage;
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], ring.phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        const int k = k_tile * BK;
        tma_load_2d(smem.a[stage], map_a, k, tile_m * BM, &smem.full[stage]);
        // The next wave reads the same rows of A, and others of B.
        tma_load_2d_hint(smem.b[stage], map_b, k, tile_n * BN, &smem.full[stage],
                         evict_first_policy());
        ring.next();
    }
}

// A consumer warpgroup hands a stage back when its wgmmas have read it. One arrival speaks for all
// four warps: a wgmma is one operation of the warpgroup, and wgmma_wait waits for the whole of it.
template <int BN>
DEVICE void release_stage(SharedStorage<BN> &smem, int stage) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// A consumer warpgroup: multiplies what the ring holds into its rows of the tile.
template <int BN>
DEVICE void multiply_tile(float (&acc)[BLOCKS][BN / 2], SharedStorage<BN> &smem, int consumer,
                          int k_tiles, Ring<STAGES> &ring) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const int stage = ring.stage;
        // Waits for the producer's loads into this stage.
        mbarrier_wait(&smem.full[stage], ring.phase);
        const uint64_t b = matrix_descriptor(smem.b[stage]);
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            for (int block = 0; block < BLOCKS; ++block) {
                const int row = consumer * WM + block * MMA_M;
                const uint64_t a = matrix_descriptor(&smem.a[stage][row * BK]);
                wgmma_e4m3<BN>(acc[block], advance_k<e4m3>(a, kk), advance_k<e4m3>(b, kk),
                               k_tile > 0 || kk > 0); // the first one overwrites
            }
        wgmma_commit();
        wgmma_wait<0>(acc);
        release_stage(smem, stage); // the wgmmas have read the stage
        ring.next();
    }
}

// A consumer warpgroup: multiplies a block of accumulators by the scales, once for all of k.
template <int COUNT>
DEVICE void scale_sums(float (&acc)[COUNT], float scale) {
    for (float &sum : acc)
        sum *= scale;
}

// A consumer warpgroup: writes a block of accumulators to its staging memory; one of its threads
// then starts the store to D at (row, column). stmatrix takes two 8 x 8 matrices, one below the
// other, and the two to their right: the first 16 lanes name the rows of the left pair, the others
// those of the right.
template <int BN>
DEVICE void store_tile(SharedStorage<BN> &smem, const TensorMap *map_d, const float (&acc)[BN / 2],
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
    if (BN % 16 > 0)
        stmatrix_x2(&staged[BN - 8], &acc[(BN - 8) / 2]); // the last 8 columns
    fence_proxy_async(); // what this thread wrote is seen by TMA ...
    named_barrier_sync(STAGING_BARRIER + consumer, WARPGROUP_THREADS); // ... and all wrote
    if (leader) {
        tma_store_2d_hint(map_d, smem.d[consumer], column, row, evict_first_policy());
        bulk_commit();
    }
}

template <int BN>
__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
         const __grid_constant__ TensorMap map_d, const float *scale_a, const float *scale_b,
         const __grid_constant__ grouped_order order, int k) {
    SharedStorage<BN> &smem = dynamic_smem<SharedStorage<BN>>();
    const int warpgroup = warpgroup_index();

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(&smem.full[stage], 1);
            mbarrier_init(&smem.empty[stage], CONSUMERS);
        }
        mbarrier_init_fence(); // before any thread or copy uses them
    }
    __syncthreads(); // the barriers are ready before anyone arrives on them

    Ring<STAGES> ring; // of this role; it goes on from tile to tile
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
                const tile_coordinate tile = ordered_tile(&order, i);
                load_tile(smem, &map_a, &map_b, tile.m, tile.n, ceil_div(k, BK), ring);
            }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        const float scale = *scale_a * *scale_b;
        for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
            const tile_coordinate tile = ordered_tile(&order, i);
            float acc[BLOCKS][BN / 2];
            multiply_tile(acc, smem, consumer, ceil_div(k, BK), ring);
            const int row = tile.m * BM + consumer * WM;
            for (int block = 0; block < BLOCKS; ++block) {
                scale_sums(acc[block], scale);
                store_tile(smem, &map_d, acc[block], consumer, row + block * MMA_M, tile.n * BN);
            }
        }
        bulk_wait_read<0>(); // the last store has read the staging memory: the CTA may leave it
    }
}

struct State {
    decltype(&gemm<WIDE>) kernel;
    size_t smem;
    TensorMap map_a;
    TensorMap map_b;
    TensorMap map_d;
    grouped_order order;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        if (multiprocessor_count(&ctas))
            return 1;
        const int tiles_m = ceil_div(p->m, BM);
        // The columns that an SM computes, one tile after the other.
        const int narrow = ceil_div(tiles_m * ceil_div(p->n, NARROW), ctas) * NARROW;
        const int wide = ceil_div(tiles_m * ceil_div(p->n, WIDE), ctas) * WIDE;
        const int bn = wide <= narrow ? WIDE : NARROW;
        kernel = bn == WIDE ? gemm<WIDE> : gemm<NARROW>;
        smem = bn == WIDE ? sizeof(SharedStorage<WIDE>) : sizeof(SharedStorage<NARROW>);
        order = grouped_order_of(tiles_m, ceil_div(p->n, bn), GROUP);
        return make_tensor_map_2d<e4m3>(&map_a, p->a, p->m, p->k, BM, BK) ||
               make_tensor_map_2d<e4m3>(&map_b, p->b, p->n, p->k, bn, BK) ||
               make_tensor_map_2d(&map_d, p->d, p->m, p->n, MMA_M, bn, UNSWIZZLED) ||
               allow_dynamic_smem(kernel, smem) || balanced_ctas(&ctas, order.tiles);
    }

    int start(const problem *p) const {
        return launch(kernel, dim3(ctas), dim3(THREADS), dim3(1), smem, p->stream, map_a, map_b,
                      map_d, p->scale_a, p->scale_b, order, p->k);
    }
};

static const step f08 = {
    .name = "f08",
    .idea = "a width that fills the waves",
    .below = "f01",
    .computes = GEMM_FP8,
    .compute_capability = 90,
    .multiple = {.m = 1, .n = 8, .k = 16},
    .tile = {.m = BM, .n = NARROW, .k = BK, .wide_n = WIDE, .stages = STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(f08, argc, argv); }
