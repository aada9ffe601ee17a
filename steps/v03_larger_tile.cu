// v03: a larger tile, several warpgroups.
//
// A tile of 128 x 128 reads half the bytes per FLOP of one of 64 x 64. Two warpgroups split its
// rows, each with the widest wgmma that the tile allows, m64n128k16, so each byte of A that a wgmma
// reads from shared memory is used for twice the columns. The tiles move to dynamic shared memory,
// which may grow to 227 KB; static shared memory ends at 48 KB. Expected: 1.5x v02.
#include "step.h"
#include "device/barrier.cuh"
#include "device/fragment.cuh"
#include "device/launch.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 64;
constexpr int WM = 64; // rows of a warpgroup
constexpr int MMA_N = BN;
constexpr int MMA_K = 16;
constexpr int THREADS = BM / WM * WARPGROUP_THREADS;
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) bf16 a[BM * BK];
    alignas(1024) bf16 b[BN * BK];
    Barrier full;
};

__global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, bf16 *d,
         int m, int n, int k) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
    const int tile_m = blockIdx.x % (m / BM);
    const int tile_n = blockIdx.x / (m / BM);
    const int warpgroup = warpgroup_index();
    const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;

    if (threadIdx.x == 0) {
        smem.full.init(THREADS);
        mbarrier_init_fence(); // before any thread or copy uses them
    }
    __syncthreads(); // the barrier is ready before anyone arrives on it

    float acc[MMA_N / 2] = {};
    for (int k_tile = 0; k_tile < k / BK; ++k_tile) {
        Barrier::Token token;
        if (threadIdx.x == 0) {
            tma_load_2d(smem.a, &map_a, k_tile * BK, tile_m * BM, &smem.full.word);
            tma_load_2d(smem.b, &map_b, k_tile * BK, tile_n * BN, &smem.full.word);
            token = smem.full.arrive_tx(sizeof(smem.a) + sizeof(smem.b));
        } else {
            token = smem.full.arrive();
        }
        smem.full.wait(token); // until both tiles have landed

        const bf16 *a = &smem.a[warpgroup * WM * BK];
        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            wgmma<MMA_N>(acc, matrix_descriptor(&a[kk]), matrix_descriptor(&smem.b[kk]));
        wgmma_commit();
        wgmma_wait<0>(acc);
        __syncthreads(); // all warps' wgmmas have read the tiles before TMA overwrites them
    }

    // The accumulator fragment: rows lane / 4 and 8 below it, two blocks of 8 columns at a time.
    const int row = tile_m * BM + warpgroup * WM + warp * 16 + lane / 4;
    bf16 *upper = &d[size_t(row) * n + tile_n * BN];
    bf16 *lower = upper + size_t(8) * n;
    for (int j = 0; j < MMA_N; j += 16) {
        const float *block = &acc[j / 2];
        store_fragment_row(&upper[j], block[0], block[1], block[4], block[5]);
        store_fragment_row(&lower[j], block[2], block[3], block[6], block[7]);
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_b;

    int prepare(const problem *p) {
        return make_tensor_map_2d(&map_a, p->a, p->m, p->k, BM, BK) ||
               make_tensor_map_2d(&map_b, p->b, p->n, p->k, BN, BK) ||
               allow_dynamic_smem(gemm, sizeof(SharedStorage));
    }

    int start(const problem *p) const {
        return launch(gemm, dim3((p->m / BM) * (p->n / BN)), dim3(THREADS), dim3(1),
                      sizeof(SharedStorage), p->stream, map_a, map_b, static_cast<bf16 *>(p->d),
                      p->m, p->n, p->k);
    }
};

static const step v03 = {
    .name = "v03",
    .idea = "a larger tile, several warpgroups",
    .computes = GEMM_BF16,
    .compute_capability = 90,
    .multiple = {.m = BM, .n = BN, .k = BK},
    .tile = {.m = BM, .n = BN, .k = BK},
};

int main(int argc, char **argv) { return run_step<State>(v03, argc, argv); }
