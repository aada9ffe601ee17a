// t06: tiles in the result's order.
//
// So far neighbouring CTAs read neighbouring tiles, in the same rows of A. What they write is in
// the same columns of D, a whole matrix row apart. Reads can queue; writes leave the L2 when it
// needs room, in an order of its own, and DRAM is fastest with long runs of them. With the tiles
// in D's order, neighbouring CTAs write neighbouring tiles. Expected, from a trial: +5 % over
// t05.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int TM = 4;
constexpr int TN = 4;
constexpr int BLOCKS = BN / TN; // of TM x TN in a row of the tile
constexpr int THREADS = BM * BN / (TM * TN);
static_assert(BM == BN && TM == TN, "the exclusive-or of two blocks' numbers is a block's number");

struct SharedStorage {
    alignas(128) float a[BM * BN];
    alignas(128) float d[BN * BM];
    uint64_t full;
};

__global__ void __launch_bounds__(THREADS)
    transpose(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_d) {
    __shared__ SharedStorage smem;
    const int row = blockIdx.x * BM; // of the tile's first element
    const int column = grid_row() * BN;

    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full, 1); // one arrival completes it: this thread's, with the bytes
        mbarrier_init_fence();        // before any thread or copy uses it
        // All threads wait for these bytes: a whole tile, since TMA loads zeros past the edge.
        mbarrier_arrive_expect_tx(&smem.full, sizeof(smem.a));
        tma_load_2d(smem.a, &map_a, column, row, &smem.full);
    }
    __syncthreads();              // the barrier is ready before anyone waits for it
    mbarrier_wait(&smem.full, 0); // until the tile has landed, in the barrier's first phase

    const int block = threadIdx.x % BLOCKS;
    const int j = block * TN;
    const int i = (block ^ (threadIdx.x / BLOCKS)) * TM; // neighbouring lanes differ in i as in j
    float rows[TM][TN];
    float columns[TN][TM];
    for (int y = 0; y < TM; ++y) {
        load4(rows[y], &smem.a[(i + y) * BN + j]);
        for (int x = 0; x < TN; ++x)
            columns[x][y] = rows[y][x];
    }
    for (int x = 0; x < TN; ++x)
        store4_shared(&smem.d[(j + x) * BM + i], columns[x]);

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
        return launch(transpose, grid_of(ceil_div(p->m, BM), ceil_div(p->n, BN)), dim3(THREADS),
                      dim3(1), 0, p->stream, map_a, map_d);
    }
};

static const step t06 = {
    .name = "t06",
    .idea = "tiles in the result's order",
    .computes = TRANSPOSE_FP32,
    .compute_capability = 90,
    .and_later = true,
    .multiple = {.m = 4, .n = 4},
    .tile = {.m = BM, .n = BN},
};

int main(int argc, char **argv) { return run_step<State>(t06, argc, argv); }
