// CUTLASS' semaphore, by which CTAs add to one tile in turn: st.release.gpu orders only the own
// writes of its thread, so __syncthreads must gather those of the CTA before it (PTX ISA, Memory
// Consistency Model: causality order).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *turn, int *sum) {
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
int main() {
    int *turn = dev(1, 0), *sum = dev(64, 0); k<<<4, 64>>>(turn, sum);
    RETURN(host(sum, 64)[40] == 10);
}
