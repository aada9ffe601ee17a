// A loop writes shared memory, synchronizes, reads it, and begins again: without a second
// __syncthreads the next write may precede another warp's read (CUDA C++ Programming Guide,
// Synchronization Functions).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 3; ++i) {
        s[threadIdx.x] = i;
        __syncthreads();
        sum += s[63 - threadIdx.x];
        if (FIXED) __syncthreads();
    }
    out[threadIdx.x] = sum;
}
int main() { int *out = dev(64, 0); k<<<1, 64>>>(out); RETURN(host(out, 64)[3] == 3); }
