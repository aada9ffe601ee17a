// t04: several elements per thread.
//
// A CTA of t03 has 1024 threads. Two such CTAs fill an SM, and most of the time both wait: for
// their load, for a barrier of all threads, for their store. Now each thread moves eight
// elements of a column: a CTA has 128 threads, and 16 CTAs fit on an SM, each at another place
// between its load and its store, so that 8x the bytes are in flight. What a CTA and a thread do
// once is shared by eight elements as well. The bank conflicts are t03's. Expected: more than 2x
// t03.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"

constexpr int BM = 32;
constexpr int BN = 32;
constexpr int TM = 8; // elements of a column that a thread moves
constexpr int THREADS = BM * BN / TM;
constexpr int ROWS = THREADS / BN; // rows of the tile that the CTA moves at once
static_assert(BM * sizeof(float) == SWIZZLE_BYTES && BN == BM, "a row is one row of the swizzle");

struct SharedStorage {
    alignas(1024) float a[BM * BN];
    alignas(1024) float d[BN * BM];
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

    const int i = threadIdx.x / BN; // and those ROWS, 2 * ROWS, ... below
    const int j = threadIdx.x % BN;
    float values[TM];
    for (int k = 0; k < TM; ++k)
        values[k] = smem.a[swizzle_128b<float>(i + k * ROWS, j)];
    for (int k = 0; k < TM; ++k)
        store_shared(&smem.d[swizzle_128b<float>(j, i + k * ROWS)], values[k]);

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
        return make_tensor_map_2d<float>(&map_a, p->a, p->m, p->n, BM, BN) ||
               make_tensor_map_2d<float>(&map_d, p->d, p->n, p->m, BN, BM);
    }

    int start(const problem *p) const {
        return launch(transpose, grid_of(ceil_div(p->n, BN), ceil_div(p->m, BM)), dim3(THREADS),
                      dim3(1), 0, p->stream, map_a, map_d);
    }
};

static const step t04 = {
    .name = "t04",
    .idea = "several elements per thread",
    .computes = TRANSPOSE_FP32,
    .compute_capability = 90,
    .and_later = true,
    .multiple = {.m = 4, .n = 4},
    .tile = {.m = BM, .n = BN},
};

int main(int argc, char **argv) { return run_step<State>(t04, argc, argv); }
