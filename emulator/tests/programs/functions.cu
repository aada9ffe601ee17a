// Functions of CUDA's headers that kernels call; INCLUDED is a file, and this program never uses
// what it has of unknown instructions.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cublas_v2.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include INCLUDED

#define NEVER_USED(x) asm volatile("tcgen05.alloc %0;" ::"r"(x))
template <int N>
__device__ void never_called(int (&d)[N]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 %0;" : "+r"(d[0]));
}

namespace cg = cooperative_groups;
__device__ unsigned total;
constexpr unsigned ALL = 0xffffffff;

__global__ void reductions(unsigned *out) {
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    out[0] = cg::reduce(tile, tile.thread_rank(), cg::plus<unsigned>());
    out[1] = __reduce_max_sync(ALL, threadIdx.x) + __reduce_xor_sync(ALL, 1u << threadIdx.x % 4);
    out[2] = __syncthreads_count(threadIdx.x < 5) + __syncthreads_or(threadIdx.x == 9) * 10 +
             __syncthreads_and(threadIdx.x < 31) * 100;
    out[3] = __activemask() == ALL && tile.all(tile.size() == 32);
    out[4] = lane_by_ptx();
}

__global__ void atomics(unsigned *out, float *sum, half2 *pair) {
    atomicInc(&out[0], 40);
    atomicMax(&out[1], threadIdx.x);
    atomicOr_block(&out[2], 1u << threadIdx.x % 8);
    atomicSub(&out[3], 1);
    atomicAdd_system(sum, 0.5f);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(total).fetch_add(
        2, cuda::memory_order_release);
    while (atomicCAS(&out[4], 0, 1) != 0) // a lock: others run
        ;
    __threadfence();
    ++out[5];
    __threadfence();
    atomicExch(&out[4], 0);
    if (threadIdx.x == 0)
        atomicAdd(pair, __floats2half2_rn(1, 2));
}

// Threads wait for a flag in memory.
__global__ void flags(volatile int *flag, int *out) {
    if (threadIdx.x == 0)
        while (*flag == 0)
            ;
    if (threadIdx.x == 32)
        *flag = 1;
    __syncthreads();
    *out = *flag;
}

__global__ void arithmetic(float *out, __nv_bfloat162 *pair) {
    const __nv_bfloat162 a = __float22bfloat162_rn({1.f, 2.f});
    *pair = __hfma2(a, a, a) + __hmax2(a, __float2bfloat162_rn(1.5f));
    out[0] = exp2f(1.f) + __fmaf_rn(1.f, 2.f, 3.f) + __logf(1.f) + fmaxf(1.f, 2.f);
    out[1] = __umulhi(1u << 31, 6) + __popcll(7) + __float2int_rn(2.5f) + __saturatef(3.f);
}

int main() {
    unsigned *u = numbers<unsigned>(8, 0), zero = 0;
    CHECK(cudaMemset(u, 0, 32));
    reductions<<<1, 32>>>(u);
    EXPECT(at(u, 0) == 496 && at(u, 1) == 31 && at(u, 2) == 15 && at(u, 3) == 1 && at(u, 4) <= 31);
    CHECK(cudaMemset(u, 0, 32));
    CHECK(cudaMemcpyToSymbol(total, &zero, sizeof zero, 0, cudaMemcpyHostToDevice));
    float *f = numbers<float>(2, 1);
    half2 *pair = nullptr;
    CHECK(cudaMalloc(&pair, sizeof(half2)));
    CHECK(cudaMemset(pair, 0, sizeof(half2)));
    atomics<<<1, 64>>>(u, f, pair);
    EXPECT(at(u, 0) == 64 % 41 && at(u, 1) == 63 && at(u, 2) == 255 && at(u, 3) == 0u - 64);
    EXPECT(at(u, 5) == 64 && at(f, 0) == 33 && total == 128 && float(at(pair, 0).y) == 2);
    __nv_bfloat162 *b = nullptr;
    CHECK(cudaMalloc(&b, sizeof *b));
    arithmetic<<<1, 1>>>(f, b);
    EXPECT(float(at(b, 0).x) == 3.5f && float(at(b, 0).y) == 8 && at(f, 0) == 9 && at(f, 1) == 9);

    int *flag = numbers<int>(2, 0); // two of them, from 0 on
    flags<<<1, 64>>>(flag, flag + 1);
    EXPECT(at(flag, 1) == 1);

    int blocks = 0, size = 0, mode = -1;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reductions, 1024, 0));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &size, reductions, 0, 0));
    CHECK(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0));
    EXPECT(blocks == 8 && size == 1024 && mode != cudaComputeModeProhibited);
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&f, &pitch, 100, 10));
    EXPECT(pitch == 512 && cublasGetStatusName(CUBLAS_STATUS_SUCCESS)[0] == 'C');
}
