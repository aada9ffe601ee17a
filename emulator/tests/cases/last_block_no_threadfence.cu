// Split-K by the last CTA to arrive: the partial sum must be fenced by __threadfence before the
// counter is incremented (CUDA C++ Programming Guide, Memory Fence Functions).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__device__ unsigned int count = 0;
__global__ void kernel(volatile float *part, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = float(blockIdx.x + 1);
        if (FIXED) __threadfence();
        last = atomicAdd(&count, 1) == gridDim.x - 1; // BUG without the fence
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        if (FIXED) __threadfence();
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i];
        *out = sum;
    }
}
int main() {
    float *part = dev(8, 0.f), *out = dev(1, 0.f); kernel<<<8, 32>>>(part, out);
    RETURN(host(out, 1)[0] == 36);
}
