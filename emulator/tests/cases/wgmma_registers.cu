// The A registers of a wgmma are overwritten before wgmma.wait_group (1), or written between
// wgmma.fence and wgmma.mma_async (2); the accumulators are read before wgmma.wait_group (3). 0 is
// right (PTX ISA, wgmma.fence; wgmma.mma_async; wgmma.wait_group).
// expect 0: silent
// expect 1, 2, 3: hazard|race
#include "common.h"
__global__ void k(float *out, int how) {
    __shared__ alignas(1024) unsigned short b[8 * 16];
    b[threadIdx.x] = BF16_ONE;
    fence_async();
    __syncthreads();
    float d[4] = {};
    uint32_t a[4] = {0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80};
    const uint64_t desc =
        (uint64_t(S32(b)) >> 4) | uint64_t(128 >> 4) << 16 | uint64_t(128 >> 4) << 32;
    wgmma_fence();
    if (how == 2)
        for (uint32_t &r : a) r = 0x40004000;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, "
                 "%6, %7}, %8, p, 1, 1, 0;\n}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc), "r"(0));
    wgmma_commit();
    if (how == 1) {
        for (uint32_t &r : a) r = 0;
        asm volatile("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(a[3]));
    }
    if (how == 3) out[threadIdx.x] = d[1];
    wgmma_wait();
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i] + (a[0] == 1);
}
int main(int, char **argv) {
    const int how = atoi(argv[1]); float *o = dev(512, 0.f); k<<<1, 128>>>(o, how);
    RETURN(host(o, 512)[9] == (how == 2 ? 32 : 16));
}
