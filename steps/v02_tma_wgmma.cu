// v02: TMA loads and wgmma.
//
// One thread has TMA load a 64 x 64 tile of A and one of B, already swizzled for the tensor cores;
// a warpgroup multiplies them with m64n64k16, both operands straight from shared memory. No operand
// passes through registers any more. Inside a CTA nothing overlaps, but an SM runs several CTAs:
// while one waits, others work. store_fragment_row has neighbouring lanes exchange halves, so
// that each of its stores fills whole sectors of D: at v07's speed that is worth 5 %. Expected: 10x
// v01, limited by the L2: each 64 x 64 tile of D reads 128 rows of operands, 4x the bytes per FLOP
// of a 256 x 256 tile.
#include "step.h"
#include "device/barrier.cuh"
#include "device/fragment.cuh"
#include "device/launch.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 64;
constexpr int MMA_N = 64;
constexpr int MMA_K = 16;
constexpr int THREADS = WARPGROUP_THREADS;
static_assert(BK == SWIZZLE_COLUMNS, "a row of a tile is one 128-byte row of the swizzle");

struct SharedStorage {
    alignas(1024) bf16 a[BM * BK];
    alignas(1024) bf16 b[BN * BK];
    Barrier full;
};

__global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, bf16 *d,
         int m, int n, int k) {
    __shared__ SharedStorage smem;
    const int tile_m = blockIdx.x % (m / BM);
    const int tile_n = blockIdx.x / (m / BM);
    const int warp = threadIdx.x / WARP_THREADS;
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

        wgmma_fence(); // orders earlier accesses to the accumulators before these wgmmas
        for (int kk = 0; kk < BK; kk += MMA_K)
            wgmma<MMA_N>(acc, matrix_descriptor(&smem.a[kk]), matrix_descriptor(&smem.b[kk]));
        wgmma_commit();
        wgmma_wait<0>(acc);
        __syncthreads(); // all warps' wgmmas have read the tiles before TMA overwrites them
    }

    // The accumulator fragment: rows lane / 4 and 8 below it, two blocks of 8 columns at a time.
    const int row = tile_m * BM + warp * 16 + lane / 4;
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
               make_tensor_map_2d(&map_b, p->b, p->n, p->k, BN, BK);
    }

    int start(const problem *p) const {
        return launch(gemm, dim3((p->m / BM) * (p->n / BN)), dim3(THREADS), dim3(1), 0, p->stream,
                      map_a, map_b, static_cast<bf16 *>(p->d), p->m, p->n, p->k);
    }
};

static const step v02 = {
    .name = "v02",
    .idea = "TMA loads and wgmma",
    .computes = GEMM_BF16,
    .compute_capability = 90,
    .multiple = {.m = BM, .n = BN, .k = BK},
    .tile = {.m = BM, .n = BN, .k = BK},
};

int main(int argc, char **argv) { return run_step<State>(v02, argc, argv); }
