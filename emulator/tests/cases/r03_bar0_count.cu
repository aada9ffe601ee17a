// RIGHT: half of the CTA calls __syncthreads(), the other half bar.sync 0, 128: the same barrier
// and the same count (PTX ISA, barrier).
// expect: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[128];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64) __syncthreads();
    else asm volatile("bar.sync 0, 128;" ::: "memory");
    out[threadIdx.x] = s[127 - threadIdx.x];
}
int main() {
    int *o = dev(128, 0); k<<<1, 128>>>(o);
    RETURN(all(host(o, 128), [](int i, int v) { return v == 127 - i; }));
}
