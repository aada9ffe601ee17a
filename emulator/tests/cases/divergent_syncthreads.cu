// __syncthreads() in a branch that only some threads take: allowed only if the condition is the
// same for the whole block (CUDA C++ Programming Guide, Synchronization Functions).
// expect: misuse|deadlock|race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void kernel(int *out) {
    __shared__ int value;
    if (threadIdx.x < 40) {
        if (threadIdx.x == 0) value = 7;
        if (!FIXED) __syncthreads(); // BUG
    }
    if (FIXED) __syncthreads();
    out[threadIdx.x] = value;
}
int main() {
    int *out = dev(64, 0); kernel<<<1, 64>>>(out); RETURN(cudaDeviceSynchronize() == cudaSuccess);
}
