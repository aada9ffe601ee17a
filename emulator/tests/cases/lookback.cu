// Decoupled look-back: a CTA stores its sum, fences, and sets a flag that the next one polls. The
// fence of a scope that lacks the reader orders nothing for it (CUDA C++ Programming Guide, Memory
// Fence Functions: __threadfence_block; PTX ISA, Memory Consistency Model: morally strong).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *sums, volatile int *flags) {
    const auto fence = FIXED ? __threadfence : __threadfence_block;
    int before = 0;
    if (blockIdx.x > 0) {
        while (flags[blockIdx.x - 1] == 0)
            ;
        fence();
        before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + int(blockIdx.x) + 1;
    fence();
    flags[blockIdx.x] = 1;
}
int main() {
    int *sums = dev(4, 0), *flags = dev(4, 0); k<<<4, 1>>>(sums, flags);
    RETURN(host(sums, 4)[3] == 10);
}
