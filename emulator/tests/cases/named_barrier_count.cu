// Two warps meet at a named barrier for 64 threads (0); a third warp waits at __syncthreads. Wrong:
// 96 are awaited and never come (1); the two give different counts (2); a count that is no multiple
// of the warp size (3) (PTX ISA, barrier).
// expect 0: silent
// expect 1: deadlock
// expect 2: misuse|deadlock
// expect 3: misuse
#include "common.h"
__global__ void k(int *out, int how) {
    __shared__ int s[64];
    if (threadIdx.x < 64) {
        s[threadIdx.x] = threadIdx.x;
        const int count = how == 1 || (how == 2 && threadIdx.x >= 32) ? 96 : how == 3 ? 48 : 64;
        asm volatile("barrier.sync 1, %0;" ::"r"(count) : "memory");
        out[threadIdx.x] = s[63 - threadIdx.x];
    }
    __syncthreads();
}
int main(int, char **argv) {
    int *out = dev(64, 0); k<<<1, 96>>>(out, atoi(argv[1])); RETURN(host(out, 64)[3] == 60);
}
