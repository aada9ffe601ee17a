// An mbarrier is initialized again without mbarrier.inval (twice), or used by a load with no fence
// since another thread initialized it; __syncthreads is none (unfenced) (PTX ISA, mbarrier.init;
// mbarrier.inval; membar/fence: .mbarrier_init; CUDA C++ Programming Guide, Using TMA).
// expect twice, unfenced: hazard|lifetime|misuse
// expect twice -DFIXED, unfenced -DFIXED: silent
#include "common.h"
__global__ void k(int *from, int *out, unsigned how) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t full, b;
    if (threadIdx.x == 0) mb_init(&full, 1);
    if (threadIdx.x == 0 && FIXED) mb_fence(), fence_async();
    __syncthreads();
    if (how == word("unfenced")) {
        if (threadIdx.x == 32) mb_expect(&full, sizeof s), bulk_load(s, from, sizeof s, &full);
        mb_wait(&full, 0);
    }
    for (int tile = 0; tile < 2 && how == word("twice"); ++tile) {
        if (threadIdx.x == 0) mb_init(&b, 64), mb_fence();
        __syncthreads();
        mb_arrive(&b), mb_wait(&b, 0);
        __syncthreads();
        if (FIXED && threadIdx.x == 0)
            asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(S32(&b)) : "memory");
    }
    out[threadIdx.x] = how == word("twice") ? 5 : s[threadIdx.x % 32];
}
int main(int, char **argv) {
    int *from = dev(32, 5), *out = dev(64, 0); k<<<1, 64>>>(from, out, word(argv[1]));
    RETURN(host(out, 64)[40] == 5);
}
