// v09, from v07: fewer instructions around the wgmmas.
// Optional.
//
// v07 fills the accumulators with zeros before each tile: 128 moves per thread, and a wgmma that
// has to wait for them. wgmma takes a predicate that makes it overwrite instead of accumulate: the
// first one of a tile uses it. The descriptors are made once per stage; each step along k then
// costs an addition per operand. Expected: +0.2 %, a few hundred of a tile's 130,000 cycles.
#include "step.h"
#include "device/fragment.cuh"
#include "device/grouped_order.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/registers.cuh"
#include "device/ring.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

constexpr int BM = 128;
constexpr int BN = 256;
constexpr int BK = 64;
constexpr int STAGES = 4;
constexpr int CONSUMERS = 2;
constexpr int WM = BM / CONSUMERS; // rows of a consumer warpgroup
constexpr int MMA_M = 64;
constexpr int BLOCKS = WM / MMA_M; // of a consumer's rows, MMA_M each
constexpr int MMA_N = BN;
constexpr int MMA_K = 16;
constexpr int GROUP = 16; // rows of tiles in a group of the schedule
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP_THREADS;
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 232;
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) bf16 a[STAGES][BM * BK];
    alignas(1024) bf16 b[STAGES][BN * BK];
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      int tile_m, int tile_n, int k_tiles, Ring<STAGES> &ring) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const int stage = ring.stage;
        // Waits for the consumers: they have read what this stage held.
        mbarrier_wait(&smem.empty[stage], ring.phase ^ 1);
        // The consumers wait for these bytes.
        mbarrier_arrive_expect_tx(&smem.full[stage], sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        tma_load_2d(smem.a[stage], map_a, k_tile * BK, tile_m * BM, &smem.full[stage]);
        tma_load_2d(smem.b[stage], map_b, k_tile * BK, tile_n * BN, &smem.full[stage]);
        ring.next();
    }
}

// A consumer warpgroup hands a stage back when its wgmmas have read it. One arrival speaks for all
// four warps: a wgmma is one operation of the warpgroup, and wgmma_wait waits for the whole of it.
DEVICE void release_stage(SharedStorage &smem, int stage) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        mbarrier_arrive(&smem.empty[stage]);
}

// A consumer warpgroup: multiplies what the ring holds into its rows of the tile.
DEVICE void multiply_tile(float (&acc)[BLOCKS][MMA_N / 2], SharedStorage &smem, int consumer,
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
                wgmma<MMA_N>(acc[block], advance_k(a, kk), advance_k(b, kk),
                             k_tile > 0 || kk > 0); // the first one overwrites
            }
        wgmma_commit();
        wgmma_wait<0>(acc);
        release_stage(smem, stage); // the wgmmas have read the stage
        ring.next();
    }
}

// Writes 64 rows of accumulators to D at (row, column). A thread holds rows lane / 4 and lane / 4 +
// 8 of its warp's 16; two blocks of 8 columns are written at a time. See wgmma.cuh.
DEVICE void store_tile(bf16 *d, const float (&acc)[MMA_N / 2], int row, int column, int n) {
    const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;
    bf16 *upper = &d[size_t(row + warp * 16 + lane / 4) * n + column];
    bf16 *lower = upper + size_t(8) * n;
    for (int j = 0; j < MMA_N; j += 16) {
        const float *block = &acc[j / 2];
        store_fragment_row(&upper[j], block[0], block[1], block[4], block[5]);
        store_fragment_row(&lower[j], block[2], block[3], block[6], block[7]);
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, bf16 *d,
         int n, int k, const __grid_constant__ grouped_order order) {
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

    Ring<STAGES> ring; // of this role; it goes on from tile to tile
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
                const tile_coordinate tile = ordered_tile(&order, i);
                load_tile(smem, &map_a, &map_b, tile.m, tile.n, k / BK, ring);
            }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
            const tile_coordinate tile = ordered_tile(&order, i);
            float acc[BLOCKS][MMA_N / 2];
            multiply_tile(acc, smem, consumer, k / BK, ring);
            const int row = tile.m * BM + consumer * WM;
            for (int block = 0; block < BLOCKS; ++block)
                store_tile(d, acc[block], row + block * MMA_M, tile.n * BN, n);
        }
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_b;
    grouped_order order;
    int ctas; // at most one per SM: the fewest that finish in the same number of waves

    int prepare(const problem *p) {
        order = grouped_order_of(p->m / BM, p->n / BN, GROUP);
        return make_tensor_map_2d(&map_a, p->a, p->m, p->k, BM, BK) ||
               make_tensor_map_2d(&map_b, p->b, p->n, p->k, BN, BK) ||
               allow_dynamic_smem(gemm, sizeof(SharedStorage)) || balanced_ctas(&ctas, order.tiles);
    }

    int start(const problem *p) const {
        return launch(gemm, dim3(ctas), dim3(THREADS), dim3(1), sizeof(SharedStorage), p->stream,
                      map_a, map_b, static_cast<bf16 *>(p->d), p->n, p->k, order);
    }
};

static const step v09 = {
    .name = "v09",
    .idea = "fewer instructions around the wgmmas",
    .below = "v07",
    .computes = GEMM_BF16,
    .compute_capability = 90,
    .multiple = {.m = BM, .n = BN, .k = BK},
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(v09, argc, argv); }
