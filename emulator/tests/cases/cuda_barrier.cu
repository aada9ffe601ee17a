// Asynchronous copies by cuda::barrier and cuda::memcpy_async, and by cuda::ptx with a map from the
// driver's entry point, which each CTA acquires from global memory (CUDA C++ Programming Guide,
// Asynchronous Data Copies).
// expect add_one, by_ptx, row: silent
// expect no_init_fence: lifetime, says full is .*\[barrier-fence\](?s:.*)// INIT_FENCE
// expect no_wait: hazard, says were not written yet(?s:.*)// WAIT STORE_FENCE
// expect no_store_fence: hazard, says TMA store .*\[proxy-fence\](?s:.*)// WAIT STORE_FENCE
// expect no_read_wait: lifetime, says CTA 0 exits while a TMA store .*\[early-exit\]
// expect no_arrival: deadlock, says full, phase 0 .*1 of 257 arrivals missing(?s:.*)// ARRIVAL
// expect no_row_wait: hazard|lifetime, says // ROW
#include "common.h"
#include <cuda/barrier>
#include <cuda/ptx>
#include <cudaTypedefs.h>
#include <cstring>
#define LACKS(what) (lacks == what)
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;
constexpr int TILE = 16;
__global__ void add_one(const __grid_constant__ CUtensorMap map, How lacks) {
    __shared__ alignas(128) int tile[TILE * TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full;
    const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x + LACKS("no_arrival"));
        if (!LACKS("no_init_fence")) cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, full); // INIT_FENCE
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof(tile));
    } else token = full.arrive();
    if (!LACKS("no_wait")) full.wait(std::move(token)); // ARRIVAL
    tile[threadIdx.x] += 1; // WAIT STORE_FENCE
    if (!LACKS("no_store_fence")) cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &tile);
        cde::cp_async_bulk_commit_group();
        if (!LACKS("no_read_wait")) cde::cp_async_bulk_wait_group_read<0>();
        (&full)->~barrier();
    }
}
__global__ void by_ptx(const CUtensorMap *map) {
    __shared__ alignas(128) int tile[TILE * TILE];
    __shared__ uint64_t full;
    const int at[2] = {TILE * int(blockIdx.x), TILE * int(blockIdx.y)};
    if (threadIdx.x == 0) {
        ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_sys, map,
                                           ptx::n32_t<128>());
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, map, at, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                       sizeof(tile));
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0))
        ;
    tile[threadIdx.x] += 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, map, at, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
__global__ void row(int *to, const int *from, How lacks) {
    __shared__ int copied[128];
    __shared__ barrier ready;
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&copied[threadIdx.x], &from[threadIdx.x],
                       cuda::aligned_size_t<4>(sizeof(int)), ready);
    if (!LACKS("no_row_wait")) ready.arrive_and_wait();
    to[threadIdx.x] = copied[blockDim.x - 1 - threadIdx.x]; // ROW
}
int main(int, char **argv) {
    constexpr int size = 2 * TILE, count = size * size;
    const std::string name = argv[1];
    int *matrix = dev(count, 5), *to = dev(128, 0);
    if (name == "row" || name == "no_row_wait") {
        row<<<1, 128>>>(to, matrix, how_of(argv));
        RETURN(host(to, 128)[9] == 5);
    }
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
    CHECK(reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function) == cuTensorMapEncodeTiled);
    const CUtensorMap map = map_of(CU_TENSOR_MAP_DATA_TYPE_INT32, matrix, {size, size},
                                   {size * sizeof(int)}, {TILE, TILE});
    if (name == "by_ptx") by_ptx<<<dim3(2, 2), TILE * TILE>>>(dev(1, map));
    else add_one<<<dim3(2, 2), TILE * TILE>>>(map, how_of(argv));
    RETURN(all(host(matrix, count), [](int, int v) { return v == 6; }));
}
