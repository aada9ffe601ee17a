// A load is issued whose mbarrier another thread has initialized, through the generic proxy,
// without a fence that makes it visible to the async proxy; __syncthreads is none (PTX ISA,
// membar/fence: .mbarrier_init; CUDA C++ Programming Guide, Using TMA to transfer one-dimensional
// arrays).
// expect: hazard|lifetime
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *from, int *out) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1);
        if (FIXED) mb_fence(), fence_async();
    }
    __syncthreads();
    if (threadIdx.x == 32) mb_expect(&full, sizeof s), bulk_load(s, from, sizeof s, &full);
    mb_wait(&full, 0);
    out[threadIdx.x] = s[threadIdx.x % 32];
}
int main() {
    int *from = dev(32, 5), *out = dev(64, 0); k<<<1, 64>>>(from, out);
    RETURN(host(out, 64)[40] == 5);
}
