// v06: persistent CTAs, a tile schedule.
//
// One CTA per SM stays resident and computes tile after tile: the two loops over `order`. While the
// consumers store a tile, the producer already fills the ring for the next one, so only an SM's
// first tile waits for its loads. A kernel that loops has two more choices, both made in prepare():
// - Which tiles run at the same time: grouped_order_of(), groups of rows of tiles, walked column by
//   column. The SMs then read few rows of A and B at any moment, few enough for the L2.
// - How many CTAs run: balanced_ctas(), the fewest that finish in the same number of waves. An
//   SM that would only idle in the last wave leaves its share of the power to the others.
// Expected: +5 % over v05 by the loops and the order, +1 to 2 % by the number of CTAs.
#include "step.h"
#include "device/barrier.cuh"
#include "device/fragment.cuh"
#include "device/grouped_order.h"
#include "device/launch.cuh"
#include "device/registers.cuh"
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
    Barrier full[STAGES];
    Barrier empty[STAGES];
};

// The producer, one thread: loads the tile's operands into the ring, up to STAGES k-tiles ahead.
DEVICE void load_tile(SharedStorage &smem, const TensorMap *map_a, const TensorMap *map_b,
                      int tile_m, int tile_n, int k_tiles, int &stage) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the consumers: they have read what this stage held.
        smem.empty[stage].wait(smem.empty[stage].arrive());
        tma_load_2d(smem.a[stage], map_a, k_tile * BK, tile_m * BM, &smem.full[stage].word);
        tma_load_2d(smem.b[stage], map_b, k_tile * BK, tile_n * BN, &smem.full[stage].word);
        // The consumers wait for these bytes.
        smem.full[stage].arrive_tx(sizeof(smem.a[stage]) + sizeof(smem.b[stage]));
        stage = (stage + 1) % STAGES;
    }
}

// A consumer warpgroup: multiplies what the ring holds into its rows of the tile.
DEVICE void multiply_tile(float (&acc)[BLOCKS][MMA_N / 2], SharedStorage &smem, int consumer,
                          int k_tiles, int &stage) {
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        // Waits for the producer's loads into this stage.
        smem.full[stage].wait(smem.full[stage].arrive());
        const bf16 *b = smem.b[stage];
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            for (int block = 0; block < BLOCKS; ++block) {
                const int row = consumer * WM + block * MMA_M;
                const bf16 *a = &smem.a[stage][row * BK];
                wgmma<MMA_N>(acc[block], matrix_descriptor(&a[kk]), matrix_descriptor(&b[kk]));
            }
        wgmma_commit();
        wgmma_wait<0>(acc);
        smem.empty[stage].arrive(); // the wgmmas have read the stage
        stage = (stage + 1) % STAGES;
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
            smem.full[stage].init(1 + CONSUMERS * WARPGROUP_THREADS);
            smem.empty[stage].init(1 + CONSUMERS * WARPGROUP_THREADS);
        }
        mbarrier_init_fence(); // before any thread or copy uses them
    }
    __syncthreads(); // the barriers are ready before anyone arrives on them

    int stage = 0; // of the ring; it continues from tile to tile
    if (warpgroup == 0) {
        setmaxnreg_dec<PRODUCER_REGISTERS>();
        if (threadIdx.x == 0)
            for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
                const tile_coordinate tile = ordered_tile(&order, i);
                load_tile(smem, &map_a, &map_b, tile.m, tile.n, k / BK, stage);
            }
    } else {
        setmaxnreg_inc<CONSUMER_REGISTERS>();
        const int consumer = warpgroup - 1;
        for (int i = 0; i < STAGES; ++i)
            smem.empty[i].arrive(); // to begin with, every stage is empty

        for (int i = blockIdx.x; i < order.tiles; i += gridDim.x) {
            const tile_coordinate tile = ordered_tile(&order, i);
            float acc[BLOCKS][MMA_N / 2] = {};
            multiply_tile(acc, smem, consumer, k / BK, stage);
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

static const step v06 = {
    .name = "v06",
    .idea = "persistent CTAs, a tile schedule",
    .computes = GEMM_BF16,
    .compute_capability = 90,
    .multiple = {.m = BM, .n = BN, .k = BK},
    .tile = {.m = BM, .n = BN, .k = BK, .stages = STAGES, .group = GROUP},
};

int main(int argc, char **argv) { return run_step<State>(v06, argc, argv); }
