// t03: the 128-byte swizzle.
//
// With the swizzle TMA permutes the 16-byte chunks of a tile's rows: chunk c of row r is stored
// as chunk c ^ (r % 8). A row of 32 fp32 is exactly the 128 bytes that the swizzle spans. Element
// (i, j) of the tile is then in chunk (j / 4) ^ (i % 8), and element (j, i) of the mirrored tile
// in chunk (i / 4) ^ (j % 8): the threads do the same arithmetic as TMA. The lanes that write a
// column now hit eight chunks instead of one. Rows that are eight apart still hit the same chunk,
// so the 32-way conflicts become 4-way. Reads of a row had none and have none. Expected: 1.5x
// t02.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"

constexpr int BM = 32;
constexpr int BN = 32;
constexpr int THREADS = BM * BN; // one element each
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

    const int i = threadIdx.x / BN;
    const int j = threadIdx.x % BN;
    store_shared(&smem.d[swizzle_128b<float>(j, i)], smem.a[swizzle_128b<float>(i, j)]);

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

static const step t03 = {
    .name = "t03",
    .idea = "the 128-byte swizzle",
    .computes = TRANSPOSE_FP32,
    .compute_capability = 90,
    .and_later = true,
    .multiple = {.m = 4, .n = 4},
    .tile = {.m = BM, .n = BN},
};

int main(int argc, char **argv) { return run_step<State>(t03, argc, argv); }
