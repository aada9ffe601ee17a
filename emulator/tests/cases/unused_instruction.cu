// RIGHT: a macro and a template that nothing uses hold instructions that the emulator may not know;
// ptxas never sees them.
// expect: silent
#include "common.h"
#define NEVER_USED(dst, src) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::128B [%0], [%1], 16;" ::"l"(dst), \
                 "r"(src))
template <int N> __device__ void never_called(int (&d)[4], uint32_t a, uint32_t b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, "
                 "{%5,%5}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a), "r"(b));
}
__global__ void kernel(int *out) { out[threadIdx.x] = threadIdx.x; }
int main() { int *out = dev(32, 0); kernel<<<1, 32>>>(out); RETURN(host(out, 32)[5] == 5); }
