// t02: a transpose through shared memory.
//
// Global memory is fast along the rows of a matrix and slow along its columns. So a tile is loaded
// by rows, transposed in shared memory and stored by rows, at the mirrored place. Each thread moves
// one element. A warp reads a row of the tile, which hits each of the 32 banks once. It writes a
// column, whose elements are 128 bytes apart: one bank, 32 times. That is the bottleneck. Expected:
// 20 % of a plain copy's speed.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"

constexpr int BM = 32;
constexpr int BN = 32;
constexpr int THREADS = BM * BN; // one element each

struct SharedStorage {
    alignas(128) float a[BM * BN];
    alignas(128) float d[BN * BM];
    uint64_t full;
};

__global__ void __launch_bounds__(THREADS)
    transpose(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_d) {
    __shared__ SharedStorage smem;
    const int row = grid_row() * BM; // of the tile's first element
    const int column = blockIdx.x * BN;

    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full, 1); // one arrival completes it: this thread's, with the bytes
        mbarrier_init_fence();        // before any thread or copy uses it
        // All threads wait for these bytes: a whole tile, since TMA loads zeros past the edge.
        mbarrier_arrive_expect_tx(&smem.full, sizeof(smem.a));
        tma_load_2d(smem.a, &map_a, column, row, &smem.full);
    }
    __syncthreads();              // the barrier is ready before anyone waits for it
    mbarrier_wait(&smem.full, 0); // until the tile has landed, in the barrier's first phase

    const int i = threadIdx.x / BN;
    const int j = threadIdx.x % BN;
    store_shared(&smem.d[j * BM + i], smem.a[i * BN + j]);

    fence_proxy_async(); // what this thread wrote is seen by TMA ...
    __syncthreads();     // ... and all wrote, before one thread starts the store
    if (threadIdx.x == 0) {
        tma_store_2d(&map_d, smem.d, row, column);
        bulk_commit();
        bulk_wait_read<0>(); // TMA has read the tile: only then may the CTA leave its memory
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_d;

    int prepare(const problem *p) {
        return make_tensor_map_2d<float>(&map_a, p->a, p->m, p->n, BM, BN, UNSWIZZLED) ||
               make_tensor_map_2d<float>(&map_d, p->d, p->n, p->m, BN, BM, UNSWIZZLED);
    }

    int start(const problem *p) const {
        return launch(transpose, grid_of(ceil_div(p->n, BN), ceil_div(p->m, BM)), dim3(THREADS),
                      dim3(1), 0, p->stream, map_a, map_d);
    }
};

static const step t02 = {
    .name = "t02",
    .idea = "a transpose through shared memory",
    .computes = TRANSPOSE_FP32,
    .compute_capability = 90,
    .and_later = true,
    .multiple = {.m = 4, .n = 4},
    .tile = {.m = BM, .n = BN},
};

int main(int argc, char **argv) { return run_step<State>(t02, argc, argv); }
