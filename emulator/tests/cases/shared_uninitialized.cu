// 48 threads fill 48 words and sum up all 64: shared memory is not initialized (CUDA C++
// Programming Guide, __shared__).
// expect: lifetime|address|hazard|misuse|wrong
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[64];
    s[threadIdx.x] = 1;
    if (FIXED)
        if (threadIdx.x < 16) s[48 + threadIdx.x] = 0;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += s[i];
    out[threadIdx.x] = sum;
}
int main() { int *out = dev(48, 0); k<<<1, 48>>>(out); RETURN(host(out, 48)[3] == 48); }
