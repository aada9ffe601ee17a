// The accumulators of a wgmma are read before wgmma.wait_group (PTX ISA, wgmma.mma_async: accessing
// them while it is in flight is undefined; wgmma.wait_group).
// expect: hazard|race
// expect -DFIXED: silent
#include "common.h"
__global__ void k(float *out) {
    __shared__ alignas(128) uint16_t a[64 * 16], b[8 * 16];
    for (int i = threadIdx.x; i < 64 * 16; i += 128) a[i] = BF16_ONE;
    b[threadIdx.x] = BF16_ONE;
    fence_async();
    __syncthreads();
    float d[4] = {};
    wgmma_fence();
    wgmma(d, a, b);
    wgmma_commit();
    if (FIXED) wgmma_wait();
    out[threadIdx.x] = d[1];
    wgmma_wait();
}
int main() { float *out = dev(128, 0.f); k<<<1, 128>>>(out); RETURN(host(out, 128)[40] == 16); }
