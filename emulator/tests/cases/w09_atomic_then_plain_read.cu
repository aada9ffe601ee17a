// Threads add to a shared counter, and all read it plainly without a barrier (CUDA C++ Programming
// Guide, Atomic Functions; Synchronization Functions).
// expect: race|hazard
#include "common.h"
__global__ void k(int *out) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, 1);
    out[threadIdx.x] = n;
}
int main() { int *o = dev(64, 0); k<<<1, 64>>>(o); host(o, 64); return 0; }
