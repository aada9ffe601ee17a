// RIGHT: PTX of Hopper and Ampere GEMMs and attention kernels; ptxas takes all. Each is known, or
// is listed in the Limits of notes/check-your-kernel.md. The kernel is not launched; instructions
// whose effects other cases check are not here.
// expect: silent
#include "common.h"
__global__ void kernel(const void *g, uint32_t s, uint64_t *map) {
    uint32_t a = 0, b = 0; uint64_t t = 0; float f = 0, f0 = 0, f1 = 0, f2 = 0, f3 = 0;
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, "
                 "%1}], [%2];" ::"l"(map), "r"(a), "r"(s));
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(g), "r"(s), "r"(a));
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(t) : "r"(s));
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(t) : "r"(s));
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(a) : "l"(t));
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map),
                 "l"(t));
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map));
    asm volatile("activemask.b32 %0;" : "=r"(a));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%4}, "
                 "{%0,%1,%2,%3};" : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3) : "r"(a));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(a) : "r"(b));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, p, 1, 1, 0, "
                 "0; }" : "+r"(a), "+r"(b) : "l"(t), "l"(t), "r"(s));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(g));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(g));
}
// Nothing uses these: ptxas never sees them.
#define NEVER_USED(dst, src) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::128B [%0], [%1], 16;" \
                 ::"l"(dst), "r"(src))
template <int N> __device__ void never_called(int (&d)[4], uint32_t a, uint32_t b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, "
                 "{%5,%5}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a), "r"(b));
}
__global__ void other(int *out) { out[0] = 5; }
int main() { int *out = dev(1, 0); other<<<1, 1>>>(out); RETURN(host(out, 1)[0] == 5); }
