// RIGHT: loads, stores, cp.async, atomics and flags in the forms in which kernels use them (PTX
// ISA, ld; st; cp.async; cp.async.mbarrier.arrive; atom; red; Memory Consistency Model).
// expect 0, 1, 2, 3, 4: silent
#include "common.h"
__global__ void plain(unsigned *out, const unsigned *in) {
    __shared__ __align__(16) unsigned s[128];
    const unsigned i = threadIdx.x, at = S32(s) + i * 16;
    unsigned a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + i * 4));
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};\n\tst.shared::cta.v2.u32 [%0 + 8], {%3, %4};"
                 ::"r"(at), "r"(d), "r"(c), "r"(b), "r"(a) : "memory");
    asm volatile("ld.shared.v4.b32 {%0, %1, _, %2}, [%3];" : "=r"(a), "=r"(b), "=r"(c) : "r"(at));
    unsigned short low;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(low) : "r"(at + 8));
    uint64_t generic;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvta.shared.u64 %0, t; }" : "=l"(generic)
        : "l"(s + i));
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + i * 4), "r"(a), "r"(b),
                 "r"((unsigned)low), "r"(c));
    if (generic != uint64_t(s + i)) out[i] = 0;
}
__global__ void copied(unsigned *out, const unsigned *in) { // 4, 8 and 12 of 16 bytes; two groups
    __shared__ __align__(16) unsigned s[32 * 8];
    unsigned *own = s + threadIdx.x * 8, *to = out + threadIdx.x * 8;
    in += threadIdx.x * 8;
    cp_async_4(own, in);
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(S32(own + 2)),
                 "l"(in + 2), "n"(8));
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(S32(own + 4)), "l"(in + 4),
                 "r"(12));
    asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;\n" ::"n"(1));
    to[0] = own[0], to[1] = own[2], to[2] = own[3];
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 4; i < 8; ++i) to[i - 1] = own[i];
}
__global__ void arriving(unsigned *out, const unsigned *in) { // counted, and one arrival more
    __shared__ uint64_t full;
    __shared__ unsigned s[32];
    if (threadIdx.x == 0) mb_init(&full, 32);
    __syncthreads();
    cp_async_4(s + threadIdx.x, in + threadIdx.x);
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];\n"
                 "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(S32(&full)));
    mb_wait(&full, 0);
    out[threadIdx.x] = s[31 - threadIdx.x];
}
__global__ void atomics(unsigned *out) {
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
    if (threadIdx.x != 0) return;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(out + 8), "f"(1.0f));
    for (int i = 0; i < 2; ++i)
        asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(out + 12), "r"(0x3f803f80));
    asm volatile("fence.acq_rel.gpu;\nmembar.gl;" ::: "memory");
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(out[13]) : "l"(out + 12));
}
__global__ void whatever_else(unsigned *out) {
    asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" : : "n"(40));
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\nnanosleep.u32 100;");
    uint64_t time, clock;
    asm volatile("mov.u64 %0, %%globaltimer;\n\tmov.u64 %1, %%clock64;" : "=l"(time), "=l"(clock));
    if (threadIdx.x == 0) asm volatile("prefetch.global.L2 [%0];" ::"l"(out));
    else asm("mov.u32 %0, 3;" : "=r"(out[threadIdx.x]));
    const unsigned zero = out == nullptr;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p trap; }" ::"r"(zero));
}
int main(int, char **argv) {
    const int how = atoi(argv[1]);
    std::vector<unsigned> given(256);
    for (unsigned i = 0; i < 256; ++i) given[i] = i + 1;
    unsigned *out = dev(256, 0u), *in = dev(256, 0u);
    cudaMemcpy(in, given.data(), 1024, cudaMemcpyHostToDevice);
    if (how == 0) plain<<<1, 32>>>(out, in);
    if (how == 1) copied<<<1, 32>>>(out, in);
    if (how == 2) arriving<<<1, 32>>>(out, in);
    if (how == 3) atomics<<<1, 64>>>(out);
    if (how == 4) whatever_else<<<1, 128>>>(out);
    const unsigned one = 0x3f800000, twos = 0x40004000, copies[] = {1, 3, 4, 5, 6, 7, 0, 0};
    const unsigned sums[] = {5, 0, 2, 128, 63, 255, 64 % 41, 0, one, one, one, one, twos, twos};
    RETURN(all(host(out, how == 0 ? 128 : how == 1 ? 256 : how == 2 ? 32 : how == 3 ? 14 : 128),
               [&](int i, unsigned v) {
        if (how == 0) return v == unsigned(i % 4 == 3 ? i - 2 : i / 4 * 4 + 4 - i % 4);
        if (how == 1) return v == (copies[i % 8] ? i / 8 * 8 + copies[i % 8] : 0);
        return how == 2 ? v == unsigned(32 - i) : how == 3 ? v == sums[i] : v == (i ? 3u : 0u);
    }));
}
