// Threads tell that their cp.async are done by an mbarrier. An ordinary arrive does not wait for
// them; cp.async.mbarrier.arrive does (PTX ISA, cp.async.mbarrier.arrive; .noinc: the barrier's
// count has the arrival).
// expect: hazard|race|lifetime
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *from, int *out) {
    __shared__ int s[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) mb_init(&full, 32), mb_fence();
    __syncthreads();
    if (threadIdx.x < 32) {
        cp_async_4(&s[threadIdx.x], from + threadIdx.x);
        if (FIXED)
            asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(S32(&full))
                         : "memory");
        else mb_arrive(&full);
    } else {
        mb_wait(&full, 0);
        out[threadIdx.x - 32] = s[63 - threadIdx.x];
    }
}
int main() {
    int *from = dev(32, 5), *out = dev(32, 0); k<<<1, 64>>>(from, out);
    RETURN(host(out, 32)[3] == 5);
}
