// Split-K by the last CTA to arrive: the partial sum must be fenced by __threadfence before the
// counter is incremented (last). CUTLASS' semaphore, by which CTAs add to one tile in turn:
// st.release.gpu orders only the own writes of its thread, so __syncthreads must gather those of
// the CTA before it (turns) (CUDA C++ Programming Guide, Memory Fence Functions; PTX ISA, Memory
// Consistency Model).
// expect last, turns: race|hazard
// expect last -DFIXED, turns -DFIXED: silent
#include "common.h"
__global__ void by_last(unsigned *count, volatile int *part, int *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = blockIdx.x + 1;
        if (FIXED) __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x != 0) return;
    if (FIXED) __threadfence();
    for (unsigned i = 0; i < gridDim.x; ++i) out[40] += part[i];
}
__global__ void in_turn(unsigned *turn, int *sum) {
    int state = -1; // of all threads but the first one, which alone looks
    while (__syncthreads_and(state != int(blockIdx.x)))
        if (threadIdx.x == 0)
            asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(turn)
                         : "memory");
    __syncthreads();
    sum[threadIdx.x] += int(blockIdx.x) + 1;
    if (FIXED) __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("st.global.release.gpu.b32 [%0], %1;" ::"l"(turn), "r"(blockIdx.x + 1)
                     : "memory");
}
int main(int, char **argv) {
    unsigned *count = dev(1, 0u); int *part = dev(4, 0), *sum = dev(64, 0);
    if (argv[1][0] == 'l') by_last<<<4, 32>>>(count, part, sum);
    else in_turn<<<4, 64>>>(count, sum);
    RETURN(host(sum, 64)[40] == 10);
}
