// t01: TMA load, add one, TMA store.
//
// The smallest complete program with TMA, the tensor memory accelerator. A tensor map, made on
// the host, describes a matrix in global memory and the box that one copy moves. One thread names
// a box; the hardware copies it to shared memory, or back, and clips it at the matrix's edge.
// Copies are asynchronous, so each needs a wait: for a load, on an mbarrier, which counts the
// bytes that arrive; for a store, by the thread that started it. And TMA accesses shared memory
// through a proxy of its own: a fence has to make the threads' writes visible to it. Expected:
// 33 % of a plain copy's speed. Two CTAs of 1024 threads fill an SM, and each has only 4 KB in
// flight.
#include "step.h"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"

constexpr int BM = 32;
constexpr int BN = 32;
constexpr int THREADS = BM * BN; // one element each

struct SharedStorage {
    alignas(128) int32_t a[BM * BN];
    uint64_t full;
};

__global__ void __launch_bounds__(THREADS)
    add_one(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_d) {
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

    const int i = threadIdx.x;
    store_shared(&smem.a[i], int32_t(uint32_t(smem.a[i]) + 1)); // unsigned: it may wrap around

    fence_proxy_async(); // what this thread wrote is seen by TMA ...
    __syncthreads();     // ... and all wrote, before one thread starts the store
    if (threadIdx.x == 0) {
        tma_store_2d(&map_d, smem.a, column, row);
        bulk_commit();
        bulk_wait_read<0>(); // TMA has read the tile: only then may the CTA leave its memory
    }
}

struct State {
    TensorMap map_a;
    TensorMap map_d;

    int prepare(const problem *p) {
        return make_tensor_map_2d<int32_t>(&map_a, p->a, p->m, p->n, BM, BN, UNSWIZZLED) ||
               make_tensor_map_2d<int32_t>(&map_d, p->d, p->m, p->n, BM, BN, UNSWIZZLED);
    }

    int start(const problem *p) const {
        return launch(add_one, grid_of(ceil_div(p->n, BN), ceil_div(p->m, BM)), dim3(THREADS),
                      dim3(1), 0, p->stream, map_a, map_d);
    }
};

static const step t01 = {
    .name = "t01",
    .idea = "TMA load, add one, TMA store",
    .computes = ADD_ONE_INT32,
    .compute_capability = 90,
    .and_later = true,
    .multiple = {.m = 1, .n = 4},
    .tile = {.m = BM, .n = BN},
};

int main(int argc, char **argv) { return run_step<State>(t01, argc, argv); }
