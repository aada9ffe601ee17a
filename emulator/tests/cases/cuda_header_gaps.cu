// RIGHT: functions and constants of CUDA's headers that GEMM files call; each compiles with nvcc.
// expect -DWHAT=1..14: silent
#include <cooperative_groups.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include "common.h"
namespace cg = cooperative_groups;
__device__ unsigned count;
__global__ void kernel(__nv_bfloat162 *out, unsigned *ticket) {
#if WHAT == 1
    *out = __float22bfloat162_rn({1.f, 2.f});
#elif WHAT == 2
    *ticket = atomicInc(&count, 7);
#elif WHAT == 3
    *ticket = atomicCAS(&count, 0, 1);
#elif WHAT == 4
    *ticket = atomicMax(&count, 3u) + atomicExch(&count, 1u);
#elif WHAT == 5
    *ticket = cg::tiled_partition<32>(cg::this_thread_block()).thread_rank();
#elif WHAT == 6
    *ticket = __reduce_add_sync(0xffffffffu, 1u) + __shfl_xor_sync(0xffffffffu, 1u, 4);
#elif WHAT == 7
    *ticket = unsigned(exp2f(1.f) + __fmaf_rn(1.f, 2.f, 3.f) + __logf(2.f) + fmaxf(1.f, 2.f));
#endif
}
int main() {
#if WHAT == 8
    int grid, block;
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0);
#elif WHAT == 9
    unsigned zero = 0;
    cudaMemcpyToSymbol(count, &zero, sizeof zero, 0, cudaMemcpyHostToDevice);
#elif WHAT == 10
    std::puts(cublasGetStatusName(CUBLAS_STATUS_SUCCESS));
#elif WHAT == 11
    int mode;
    cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0);
#elif WHAT == 12
    std::printf("%d\n", int(cudaComputeModeProhibited));
#elif WHAT == 13
    int blocks;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 0);
#elif WHAT == 14
    float *two;
    size_t pitch;
    cudaMallocPitch(&two, &pitch, 100, 10);
#endif
    return 0;
}
