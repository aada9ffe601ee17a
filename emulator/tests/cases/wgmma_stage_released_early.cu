// A consumer arrives at `empty` before wgmma.wait_group: the wgmma may still read the stage that
// the producer then overwrites (PTX ISA, wgmma.wait_group; Asynchronous Warpgroup Level Matrix).
// expect: hazard|race
// expect -DFIXED: silent
#include "common.h"
__global__ void k(uint16_t *from, float *out) {
    __shared__ alignas(128) uint16_t stage[64 * 16 + 8 * 16];
    __shared__ uint64_t full, empty;
    if (threadIdx.x == 0) mb_init(&full, 1), mb_init(&empty, 128), mb_fence();
    __syncthreads();
    if (threadIdx.x == 128)
        for (int i = 0; i < 2; ++i) {
            if (i > 0) mb_wait(&empty, 0);
            mb_expect(&full, sizeof stage);
            bulk_load(stage, from, sizeof stage, &full);
        }
    float d[4] = {};
    for (int i = 0; i < 2 && threadIdx.x < 128; ++i) {
        mb_wait(&full, i);
        wgmma_fence();
        wgmma(d, stage, stage + 64 * 16);
        wgmma_commit();
        if (FIXED) wgmma_wait();
        mb_arrive(&empty);
        wgmma_wait();
        out[threadIdx.x] = d[1];
    }
}
int main() {
    uint16_t *from = dev(72 * 16, uint16_t(BF16_ONE)); float *out = dev(128, 0.f);
    k<<<1, 160>>>(from, out); RETURN(host(out, 128)[40] == 16);
}
