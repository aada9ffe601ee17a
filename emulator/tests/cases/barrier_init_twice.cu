// An mbarrier is initialized again for the next tile without mbarrier.inval (PTX ISA, mbarrier.init
// and mbarrier.inval: on a valid mbarrier object only the other mbarrier operations are defined).
// expect: lifetime|misuse
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ uint64_t b;
    for (int tile = 0; tile < 2; ++tile) {
        if (threadIdx.x == 0) mb_init(&b, 64), mb_fence();
        __syncthreads();
        mb_arrive(&b);
        mb_wait(&b, 0);
        __syncthreads();
        if (FIXED && threadIdx.x == 0)
            asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(S32(&b)) : "memory");
    }
    out[threadIdx.x] = 1;
}
int main() { int *out = dev(64, 0); k<<<1, 64>>>(out); RETURN(host(out, 64)[3] == 1); }
