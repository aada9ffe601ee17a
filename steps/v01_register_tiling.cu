// v01: register tiling on the CUDA cores.
//
// A CTA computes a BM x BN tile of D, a warp WM x WN of it, a thread TM x TN of that, in registers.
// Each value that a thread reads from shared memory is used TM or TN times: 64 FMAs for every 16
// values read. So the FMA units are the bottleneck, not the loads. The ceiling is fp32 on the CUDA
// cores, 256 FLOP per cycle and SM: 1/16 of the tensor cores' rate. Expected: half of that ceiling,
// 3 to 4 % of cuBLAS.
#include "step.h"
#include "device/base.cuh"
#include "device/launch.cuh"
#include "device/vector.cuh"

constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 32;
constexpr int WM = 64;
constexpr int WN = 32;
constexpr int TM = 8;
constexpr int TN = 8;
constexpr int WARPS_N = BN / WN;
constexpr int THREADS = (BM / WM) * WARPS_N * WARP_THREADS;
constexpr int LOAD = 8; // bf16 values in a 16-byte load
static_assert((WM / TM) * (WN / TN) == WARP_THREADS, "a warp's thread tiles fill its warp tile");
static_assert(BM * BK % (THREADS * LOAD) == 0, "all threads load equally often");
static_assert(BM == BN, "load_tile serves both operands");

// fp32 and k-major: a thread's TM (or TN) values for one k are neighbours, two 16-byte loads.
struct SharedStorage {
    alignas(16) float a[BK][BM];
    alignas(16) float b[BK][BN];
};

// Copies rows [0, BM) and columns [0, BK) of `source`, whose rows are k long, to shared memory,
// transposed. Neighbouring threads take neighbouring rows: their shared stores hit 32 banks.
DEVICE void load_tile(float (&tile)[BK][BM], const bf16 *source, int k) {
    for (int chunk = threadIdx.x; chunk < BM * BK / LOAD; chunk += THREADS) {
        const int row = chunk % BM;
        const int column = chunk / BM * LOAD;
        float values[LOAD];
        load8(values, &source[size_t(row) * k + column]);
        for (int i = 0; i < LOAD; ++i)
            tile[column + i][row] = values[i];
    }
}

__global__ void __launch_bounds__(THREADS, 2)
    gemm(const bf16 *a, const bf16 *b, bf16 *d, int m, int n, int k) {
    __shared__ SharedStorage smem;
    const int tile_m = blockIdx.x % (m / BM);
    const int tile_n = blockIdx.x / (m / BM);
    const int warp = threadIdx.x / WARP_THREADS;
    const int lane = threadIdx.x % WARP_THREADS;
    const int row = warp / WARPS_N * WM + lane / (WN / TN) * TM;
    const int column = warp % WARPS_N * WN + lane % (WN / TN) * TN;

    float acc[TM][TN] = {};
    for (int k_tile = 0; k_tile < k / BK; ++k_tile) {
        load_tile(smem.a, &a[size_t(tile_m) * BM * k + k_tile * BK], k);
        load_tile(smem.b, &b[size_t(tile_n) * BN * k + k_tile * BK], k);
        __syncthreads(); // the tiles are complete

        for (int kk = 0; kk < BK; ++kk) {
            float fragment_a[TM];
            float fragment_b[TN];
            load8(fragment_a, &smem.a[kk][row]);
            load8(fragment_b, &smem.b[kk][column]);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    acc[i][j] += fragment_a[i] * fragment_b[j];
        }
        __syncthreads(); // all have read the tiles before the next ones overwrite them
    }

    bf16 *tile_d = &d[size_t(tile_m * BM + row) * n + tile_n * BN + column];
    for (int i = 0; i < TM; ++i)
        store8(&tile_d[size_t(i) * n], acc[i]);
}

struct State {
    int prepare(const problem *) { return 0; }

    int start(const problem *p) const {
        return launch(gemm, dim3((p->m / BM) * (p->n / BN)), dim3(THREADS), dim3(1), 0, p->stream,
                      static_cast<const bf16 *>(p->a), static_cast<const bf16 *>(p->b),
                      static_cast<bf16 *>(p->d), p->m, p->n, p->k);
    }
};

static const step v01 = {
    .name = "v01",
    .idea = "register tiling on the CUDA cores",
    .computes = GEMM_BF16,
    .on_cuda_cores = true,
    .compute_capability = 90,
    .multiple = {.m = BM, .n = BN, .k = BK},
    .tile = {.m = BM, .n = BN, .k = BK},
};

int main(int argc, char **argv) { return run_step<State>(v01, argc, argv); }
