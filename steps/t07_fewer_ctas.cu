// t07: four CTAs per SM.
//
// DRAM stays busy if the bytes in flight cover its bandwidth times its latency: about four tiles
// per SM. More only make a longer queue, in which requests for distant rows mix. Six CTAs of t06
// fit on an SM; here each requests a quarter of the SM's shared memory, so that only four fit.
// Expected, from a trial: +0.5 % over t06.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/shared_memory.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int TM = 4;
constexpr int TN = 4;
constexpr int BLOCKS = BN / TN; // of TM x TN in a row of the tile
constexpr int THREADS = BM * BN / (TM * TN);
constexpr int CTAS_PER_SM = 4;
static_assert(BM == BN && TM == TN, "the exclusive-or of two blocks' numbers is a block's number");

struct SharedStorage {
    alignas(128) float a[BM * BN];
    alignas(128) float d[BN * BM];
    uint64_t full;
};

__global__ void __launch_bounds__(THREADS)
    transpose(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_d) {
    SharedStorage &smem = dynamic_smem<SharedStorage>();
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
    size_t smem; // more than SharedStorage needs: only CTAS_PER_SM fit on an SM

    int prepare(const problem *p) {
        return smem_of_ctas_per_sm(&smem, CTAS_PER_SM, sizeof(SharedStorage)) ||
               allow_dynamic_smem(transpose, smem) ||
               make_tensor_map_2d<float>(&map_a, p->a, p->m, p->n, BM, BN, UNSWIZZLED) ||
               make_tensor_map_2d<float>(&map_d, p->d, p->n, p->m, BN, BM, UNSWIZZLED);
    }

    int start(const problem *p) const {
        return launch(transpose, grid_of(ceil_div(p->m, BM), ceil_div(p->n, BN)), dim3(THREADS),
                      dim3(1), smem, p->stream, map_a, map_d);
    }
};

static const step t07 = {
    .name = "t07",
    .idea = "four CTAs per SM",
    .computes = TRANSPOSE_FP32,
    .compute_capability = 90,
    .and_later = true,
    .multiple = {.m = 4, .n = 4},
    .tile = {.m = BM, .n = BN},
};

int main(int argc, char **argv) { return run_step<State>(t07, argc, argv); }
