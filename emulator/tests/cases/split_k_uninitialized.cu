// Split-K adds up in fresh memory: cudaMalloc does not clear it (CUDA Runtime API, cudaMalloc).
// expect: lifetime|address|hazard|misuse|wrong
// expect -DFIXED: silent
#include "common.h"
__global__ void k(float *sum) { atomicAdd(&sum[threadIdx.x], 1.f); }
int main() {
    float *sum;
    cudaMalloc(&sum, 32 * sizeof(float));
    if (FIXED) cudaMemset(sum, 0, 32 * sizeof(float));
    k<<<4, 32>>>(sum);
    RETURN(host(sum, 32)[3] == 4);
}
