// RIGHT: loads, stores, cp.async, atomics and flags in the forms in which kernels use them (PTX
// ISA, ld; st; cp.async; atom; red; Memory Consistency Model).
// expect plain, copied, atomics 64, whatever_else 128: silent
#include "common.h"
__global__ void plain(int *in, int *out, How) {
    __shared__ __align__(16) unsigned s[128];
    const unsigned i = threadIdx.x, at = S32(s) + i * 16;
    int *to = out + 256 + i * 4;
    unsigned a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + 256 + i * 4));
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};\n\tst.shared::cta.v2.u32 [%0 + 8], {%3, %4};"
                 ::"r"(at), "r"(d), "r"(c), "r"(b), "r"(a) : "memory");
    asm volatile("ld.shared.v4.b32 {%0, %1, _, %2}, [%3];" : "=r"(a), "=r"(b), "=r"(c) : "r"(at));
    unsigned short low;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(low) : "r"(at + 8));
    uint64_t generic;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvta.shared.u64 %0, t; }" : "=l"(generic)
        : "l"(s + i));
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b),
                 "r"((unsigned)low), "r"(c));
    bool right = generic == uint64_t(s + i);
    for (int n = 0; n < 4; ++n) right &= to[n] == int(i) * 4 + 3 - n;
    out[i] = seven_if(right);
}
__global__ void copied(int *in, int *out, How) { // 4, 8 and 12 of 16 bytes; two groups
    __shared__ __align__(16) int s[32 * 8];
    int *own = s + threadIdx.x * 8;
    in += 256 + threadIdx.x * 8;
    cp_async_4(own, in);
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(S32(own + 2)),
                 "l"(in + 2), "n"(8));
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(S32(own + 4)), "l"(in + 4),
                 "r"(12));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;\n" ::"n"(1));
    bool right = own[0] == in[0] && own[2] == in[2] && own[3] == in[3];
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 4; i < 8; ++i) right &= own[i] == (i < 7 ? in[i] : 0);
    out[threadIdx.x] = seven_if(right);
}
__global__ void atomics(int *, int *to, How) {
    int *out = to + 256;
    __shared__ unsigned flag, data;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 32) {
        data = 5;
        asm volatile("st.release.cta.shared::cta.u32 [%0], 1;" ::"r"(S32(&flag)) : "memory");
    } else if (threadIdx.x == 0) {
        for (unsigned seen = 0; seen == 0;)
            asm volatile("ld.shared::cta.acquire.cta.u32 %0, [%1];" : "=r"(seen) : "r"(S32(&flag)));
        out[0] = data;
    }
    if (threadIdx.x % 32 == 0) { // out[1] is a lock, out[2] what it protects
        unsigned taken = 1;
        while (taken != 0)
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(taken)
                         : "l"(out + 1) : "memory");
        ++out[2];
        asm volatile("atom.exch.release.gpu.global.b32 %0, [%1], 0;" : "=r"(taken) : "l"(out + 1)
                     : "memory");
    }
    asm volatile("red.release.gpu.global.add.u32 [%0], 2;" ::"l"(out + 3) : "memory");
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(out + 4), "r"(threadIdx.x) : "memory");
    asm volatile("red.global.or.b32 [%0], %1;" ::"l"(out + 5), "r"(1 << threadIdx.x % 8));
    asm volatile("red.global.inc.u32 [%0], 40;" ::"l"(out + 6));
    __syncthreads();
    if (threadIdx.x != 0) return;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(out + 8), "f"(1.0f));
    for (int i = 0; i < 2; ++i)
        asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(out + 12), "r"(0x3f803f80));
    asm volatile("fence.acq_rel.gpu;\nmembar.gl;" ::: "memory");
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(out[13]) : "l"(out + 12));
    const int one = 0x3f800000, twos = 0x40004000;
    const int sums[] = {5, 0, 2, 128, 63, 255, 64 % 41, 0, one, one, one, one, twos, twos};
    to[0] = seven_if(memcmp(out, sums, sizeof sums) == 0);
}
__global__ void whatever_else(int *, int *out, How) {
    asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" : : "n"(40));
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\nnanosleep.u32 100;");
    uint64_t time, clock;
    asm volatile("mov.u64 %0, %%globaltimer;\n\tmov.u64 %1, %%clock64;" : "=l"(time), "=l"(clock));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(out));
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p trap; }" ::"r"(out == nullptr));
    asm("mov.u32 %0, 7;" : "=r"(out[threadIdx.x]));
}
int main(int, char **argv) {
    return run(argv, {{"plain", plain}, {"copied", copied}, {"atomics", atomics},
                      {"whatever_else", whatever_else}});
}
