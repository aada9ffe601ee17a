// Warp 0 writes shared memory and arrives with .relaxed, which releases nothing; warp 1 waits and
// reads (PTX ISA, mbarrier.arrive: .sem).
// expect: race|hazard
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[32];
    __shared__ uint64_t b;
    if (threadIdx.x == 0) {
        mb_init(&b, 32);
        mb_fence();
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        s[threadIdx.x] = threadIdx.x;
        asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(S32(&b))
                     : "memory");
    } else {
        asm volatile("{\n.reg .pred p;\nagain:\n"
                     "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%0], 0;\n"
                     "@!p bra again;\n}" ::"r"(S32(&b)) : "memory");
        out[threadIdx.x - 32] = s[63 - threadIdx.x];
    }
}
int main() { int *o = dev(32, 0); k<<<1, 64>>>(o); RETURN(host(o, 32)[5] == 26); }
