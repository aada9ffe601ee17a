// RIGHT: functions and constants of CUDA's headers that kernels and GEMM files use, a cooperative
// launch, and memory of the host that kernels may access (Guide, Cooperative Groups; Atomic
// Functions; Warp functions; Device Memory; CUDA Math API). A fault of the host's own is not the
// kernel's.
// expect right: silent
// expect host_fault: crash
#include "common.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <csignal>
namespace cg = cooperative_groups;
__device__ unsigned total;
constexpr unsigned ALL = 0xffffffff;
__global__ void reductions(unsigned *out) {
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const unsigned i = tile.thread_rank(), bit = 1u << i % 4;
    const unsigned sum = cg::reduce(tile, i, cg::plus<unsigned>());
    const unsigned max = __reduce_max_sync(ALL, i) + __reduce_xor_sync(ALL, bit) +
                         __reduce_add_sync(ALL, 0u);
    const unsigned count = __syncthreads_count(i < 5) + __syncthreads_or(i == 9) * 10 +
                           __syncthreads_and(i < 31) * 100;
    const bool shuffled = __shfl_sync(ALL, i, i * 7) == i * 7 % 32 &&
                          __shfl_sync(ALL, i, i + 3, 8) == i / 8 * 8 + (i + 3) % 8 &&
                          __shfl_up_sync(ALL, i, 4) == (i < 4 ? i : i - 4) &&
                          __shfl_down_sync(ALL, i, 3, 16) == (i % 16 < 13 ? i + 3 : i) &&
                          __shfl_xor_sync(ALL, i * 0x100000001ull, 9) >> 32 == (i ^ 9);
    const bool whole = __activemask() == ALL && tile.all(tile.size() == 32 && shuffled);
    if (i == 0) out[0] = sum, out[1] = max, out[2] = count, out[3] = whole;
}
__global__ void atomics(unsigned *out, float *sum, half2 *pair) {
    atomicInc(&out[0], 40);
    atomicMax(&out[1], threadIdx.x);
    atomicOr_block(&out[2], 1u << threadIdx.x % 8);
    atomicSub(&out[3], 1);
    atomicAdd_system(sum, 0.5f);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(total).fetch_add(
        2, cuda::memory_order_release);
    while (atomicCAS(&out[4], 0, 1) != 0) {} // a lock: others run
    __threadfence();
    ++out[5];
    __threadfence();
    atomicExch(&out[4], 0);
    if (threadIdx.x == 0)
        atomicAdd(pair, __floats2half2_rn(1, 2));
}
__global__ void arithmetic(float *out, __nv_bfloat162 *pair) {
    const __nv_bfloat162 a = __float22bfloat162_rn({1.f, 2.f});
    *pair = __hfma2(a, a, a) + __hmax2(a, __float2bfloat162_rn(1.5f));
    out[0] = exp2f(1.f) + __fmaf_rn(1.f, 2.f, 3.f) + __logf(1.f) + fmaxf(1.f, 2.f);
    out[1] = __umulhi(1u << 31, 6) + __popcll(7) + __float2int_rn(2.5f) + __saturatef(3.f);
}
struct Parameters {
    float4 scale;
    int *to;
};
__constant__ int offset;
__global__ void parameters(const float4 scale, Parameters more, const int *from, const int *locked) {
    extern __shared__ __align__(128) int words[];
    words[threadIdx.x] = from[threadIdx.x] + offset;
    more.to[0] = int(scale.x + more.scale.y) + words[threadIdx.x] + locked[5];
    more.to[1] = int(__cvta_generic_to_shared(words) % 128);
}
__global__ void neighbours(int *part, int *out) {
    part[blockIdx.x] = blockIdx.x;
    cg::this_grid().sync();
    out[blockIdx.x] = part[(blockIdx.x + 1) % gridDim.x];
}
// A tile whose size is known when it runs; an array that is aligned by its address.
__global__ void groups(unsigned *out) {
    __shared__ int few[8];
    __shared__ __align__(16 * 1024) char array[64];
    const cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), 8);
    if (tile.thread_rank() == 0) few[threadIdx.x / 8] = int(clock64());
    tile.sync();
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (threadIdx.x == 8) out[0] = few[1] > 0, out[1] = tile.size() + warp.size();
    if (threadIdx.x == 0) out[2] = __cvta_generic_to_shared(array) % (16 * 1024);
}
int main(int, char **argv) {
    if (argv[1][0] == 'h') signal(SIGSEGV, SIG_DFL), *(volatile int *)64 = 0;
    unsigned *u = dev(8, 0u), zero = 0;
    float *f = dev(2, 1.f);
    half2 *pair = dev(1, __floats2half2_rn(0, 0));
    __nv_bfloat162 *b = dev(1, __nv_bfloat162{});
    reductions<<<1, 32>>>(u);
    CHECK(host(u, 4) == (std::vector<unsigned>{496, 31, 15, 1}));
    cudaMemset(u, 0, 32);
    cudaMemcpyToSymbol(total, &zero, sizeof zero, 0, cudaMemcpyHostToDevice);
    atomics<<<1, 64>>>(u, f, pair);
    CHECK(host(u, 6) == (std::vector<unsigned>{64 % 41, 63, 255, 0u - 64, 0, 64}));
    CHECK(host(f, 1)[0] == 33 && total == 128 && float(host(pair, 1)[0].y) == 2);
    arithmetic<<<1, 1>>>(f, b);
    CHECK(float(host(b, 1)[0].x) == 3.5f && float(host(b, 1)[0].y) == 8);
    CHECK(host(f, 2) == (std::vector<float>{9, 9}));
    int *locked, *managed, *out = dev(4, -1), *part = dev(4, 0);
    const int ten = 10;
    cudaMallocHost(&locked, 128), cudaMallocManaged(&managed, 128);
    for (int i = 0; i < 32; ++i) locked[i] = managed[i] = i;
    cudaMemcpyToSymbol(offset, &ten, sizeof ten);
    const float4 four = make_float4(1, 2, 3, 4);
    parameters<<<1, 1, 128>>>(four, {four, out}, managed, locked);
    CHECK(host(out, 2) == (std::vector<int>{3 + 10 + 5, 0}) && cudaFreeHost(locked) == 0);
    void *arguments[] = {&part, &out};
    CHECK(!cudaLaunchCooperativeKernel((void *)neighbours, dim3(4), dim3(1), arguments, 0, nullptr));
    CHECK(host(out, 4) == (std::vector<int>{1, 2, 3, 0}));
    void const *kernel = (void const *)groups;
    void *to[] = {&u};
    cudaLaunchConfig_t config{dim3(1), dim3(32)};
    CHECK(!cudaLaunchKernelExC(&config, kernel, to));
    CHECK(host(u, 3) == (std::vector<unsigned>{1, 40, 0}));
    float *fresh;
    cudaMalloc(&fresh, 4);
    CHECK(std::isnan(host(fresh, 1)[0]));
    int blocks = 0, size = 0, mode = -1;
    size_t pitch = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reductions, 1024, 0);
    cudaOccupancyMaxPotentialBlockSize(&blocks, &size, reductions, 0, 0);
    cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0);
    cudaMallocPitch(&f, &pitch, 100, 10);
    RETURN(blocks == 8 && size == 1024 && mode != cudaComputeModeProhibited && pitch == 512);
}
