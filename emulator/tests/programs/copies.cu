// Copies that are asynchronous: TMA by cuda::barrier, by cuda::ptx and with a map from the driver's
// entry point, and memcpy_async. The first argument is the kernel; those from `no_` on have a
// mistake, on the line that says so.
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cudaTypedefs.h>
#include <cstring>

#include "check.h"

using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;

constexpr int TILE = 16;
enum class Lacks { NOTHING, INIT_FENCE, WAIT, STORE_FENCE, READ_WAIT, ARRIVAL, SYNC };

// Adds one to a tile.
template <Lacks LACKS>
__global__ void add_one(const __grid_constant__ CUtensorMap map, int *) {
    __shared__ alignas(128) int tile[TILE * TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full;
    const int x = blockIdx.x * TILE, y = blockIdx.y * TILE;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x + (LACKS == Lacks::ARRIVAL));
        if (LACKS != Lacks::INIT_FENCE)
            cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, full); // INIT_FENCE
        token = cuda::device::barrier_arrive_tx(full, 1, sizeof(tile));
    } else {
        token = full.arrive();
    }
    if (LACKS != Lacks::WAIT)
        full.wait(std::move(token)); // ARRIVAL
    tile[threadIdx.x] += 1;          // WAIT STORE_FENCE
    if (LACKS != Lacks::STORE_FENCE)
        cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &tile); // READ_WAIT
        cde::cp_async_bulk_commit_group();
        if (LACKS != Lacks::READ_WAIT)
            cde::cp_async_bulk_wait_group_read<0>();
        (&full)->~barrier();
    }
}

// The same with cuda::ptx and a map in global memory, which each CTA acquires.
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

// A map in global memory that no CTA acquires.
__global__ void not_acquired(const CUtensorMap *map) {
    __shared__ alignas(128) int tile[TILE * TILE];
    __shared__ barrier full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        cde::fence_proxy_async_shared_cta();
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, map, 0, 0, full); // not acquired
        full.wait(cuda::device::barrier_arrive_tx(full, 1, sizeof(tile)));
    }
}

// Copies a row by memcpy_async, and reads another thread's part of it.
template <Lacks LACKS>
__global__ void row(int *to, const int *from) {
    __shared__ int copied[128];
    __shared__ barrier ready;
    if (threadIdx.x == 0)
        init(&ready, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&copied[threadIdx.x], &from[threadIdx.x],
                       cuda::aligned_size_t<4>(sizeof(int)), ready);
    if (LACKS != Lacks::WAIT)
        ready.arrive_and_wait();
    to[threadIdx.x] = copied[blockDim.x - 1 - threadIdx.x]; // row
}

// Threads of one warp after those of another.
template <Lacks LACKS>
__global__ void neighbours(int *to) {
    __shared__ int words[64];
    words[threadIdx.x] = threadIdx.x; // SYNC
    if (LACKS != Lacks::SYNC)
        __syncthreads();
    to[threadIdx.x] = words[63 - threadIdx.x]; // SYNC
}

// Each CTA arrives on its peer's barrier at the end; only one that waits for that may exit without
// a barrier of the cluster.
template <Lacks LACKS>
__global__ void __cluster_dims__(2, 1, 1) partners(int *) {
    __shared__ uint64_t done;
    const unsigned own = __cvta_generic_to_shared(&done), rank = blockIdx.x % 2;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&done, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (threadIdx.x == 0)
        asm volatile("{ .reg .b32 peer;\n"
                     "mapa.shared::cluster.u32 peer, %0, %1;\n"
                     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer]; }" // partners
                     ::"r"(own),
                     "r"(rank ^ 1));
    if (LACKS != Lacks::WAIT)
        ptx::mbarrier_try_wait_parity(&done, 0);
}

static CUtensorMap map_of(int *matrix, int size) {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
    const auto encode = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
    CUtensorMap map{};
    const cuuint64_t sizes[] = {cuuint64_t(size), cuuint64_t(size)};
    const cuuint64_t stride[] = {size * sizeof(int)};
    const cuuint32_t box[] = {TILE, TILE}, step[] = {1, 1};
    EXPECT(encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, sizes, stride, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                  CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
}

int main(int argc, char **argv) {
    const int size = 2 * TILE;
    const auto is = [&](const char *name) { return argc == 2 && strcmp(argv[1], name) == 0; };
    int *matrix = numbers<int>(size * size, 0), *to = numbers<int>(size * size, 0);
    const CUtensorMap map = map_of(matrix, size);
    CUtensorMap *in_memory = nullptr;
    CHECK(cudaMalloc(&in_memory, sizeof(map)));
    CHECK(cudaMemcpy(in_memory, &map, sizeof(map), cudaMemcpyHostToDevice));
    const dim3 grid(2, 2);
    int sum = 0;
    if (is("add_one"))
        add_one<Lacks::NOTHING><<<grid, TILE * TILE>>>(map, to);
    else if (is("by_ptx"))
        by_ptx<<<grid, TILE * TILE>>>(in_memory);
    else if (is("row"))
        row<Lacks::NOTHING><<<1, 128>>>(to, matrix);
    else if (is("neighbours"))
        neighbours<Lacks::NOTHING><<<1, 64>>>(to);
    else if (is("no_init_fence"))
        add_one<Lacks::INIT_FENCE><<<grid, TILE * TILE>>>(map, to);
    else if (is("no_wait"))
        add_one<Lacks::WAIT><<<grid, TILE * TILE>>>(map, to);
    else if (is("no_store_fence"))
        add_one<Lacks::STORE_FENCE><<<grid, TILE * TILE>>>(map, to);
    else if (is("no_read_wait"))
        add_one<Lacks::READ_WAIT><<<grid, TILE * TILE>>>(map, to);
    else if (is("no_arrival"))
        add_one<Lacks::ARRIVAL><<<grid, TILE * TILE>>>(map, to);
    else if (is("no_acquire"))
        not_acquired<<<1, 32>>>(in_memory);
    else if (is("no_row_wait"))
        row<Lacks::WAIT><<<1, 128>>>(to, matrix);
    else if (is("no_sync"))
        neighbours<Lacks::SYNC><<<1, 64>>>(to);
    else if (is("partners"))
        partners<Lacks::NOTHING><<<4, 32>>>(to);
    else if (is("no_partner_wait"))
        partners<Lacks::WAIT><<<4, 32>>>(to);
    else
        return 3;
    CHECK(cudaGetLastError());
    if (is("row") || is("neighbours")) {
        EXPECT(at(to, 0) == (is("row") ? 127 : 63));
    } else if (is("add_one") || is("by_ptx") || is("no_wait") || is("no_read_wait")) {
        for (int i = 0; i < size * size; ++i)
            sum += at(matrix, i) - i;
        EXPECT(sum == size * size);
    }
}
