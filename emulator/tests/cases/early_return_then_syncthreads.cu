// RIGHT: a warp and half of another return early; __syncthreads waits for all threads that have not
// exited (CUDA C++ Programming Guide, Compute Capability 7.x: Independent Thread Scheduling).
// expect: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[48];
    if (threadIdx.x >= 48) return;
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = s[47 - threadIdx.x];
}
int main() { int *out = dev(48, 0); k<<<1, 96>>>(out); RETURN(host(out, 48)[3] == 44); }
