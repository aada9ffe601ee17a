// A lock by atomicCAS: CUDA's atomics are relaxed, so __threadfence must follow the acquisition and
// precede the release (CUDA C++ Programming Guide, Atomic Functions; Memory Fence Functions).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__device__ int lock = 0;
__global__ void k(int *sum) {
    while (atomicCAS(&lock, 0, 1) != 0)
        ;
    if (FIXED) __threadfence();
    *sum = *sum + 1;
    if (FIXED) __threadfence();
    atomicExch(&lock, 0);
}
int main() { int *sum = dev(1, 0); k<<<4, 1>>>(sum); RETURN(host(sum, 1)[0] == 4); }
