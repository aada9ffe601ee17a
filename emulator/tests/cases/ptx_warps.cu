// RIGHT: barriers and collectives of warps in the forms in which kernels use them, with lanes that
// the CTA does not have or that have exited (PTX ISA, barrier; shfl.sync; vote.sync; redux.sync;
// elect.sync; bar.warp.sync).
// expect 0, 1, 2: silent
#include "common.h"
__global__ void barriers(unsigned *out) { // a warp arrives, one waits; then all; warps in turn
    __shared__ unsigned s[64];
    const unsigned i = threadIdx.x, warp = i / 32;
    if (warp == 0) {
        s[i] = i;
        asm volatile("bar.arrive 3, 64;" ::: "memory");
    } else if (warp == 1) {
        asm volatile("bar.sync %0, %1;" ::"r"(3), "n"(64) : "memory");
        s[i] = s[i - 32] + 100;
    }
    asm volatile("barrier.sync.aligned 5;" ::: "memory");
    if (warp == 2) s[i - 32] += 1000;
    asm volatile("barrier.cta.sync 0;" ::: "memory");
    if (warp < 2) out[i] = s[i];
    asm volatile("bar.warp.sync 0xffffffff;\n\tmembar.cta;\n\tfence.acq_rel.gpu; fence.sc.cta;");
}
__global__ void collectives(unsigned *out) {
    const unsigned lane = threadIdx.x;
    unsigned below, other, votes, any, sum, leader, elected, *own = out + lane * 8;
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(below) : "r"(lane * 3));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, -1;" : "=r"(other) : "r"(lane));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %2, 5; vote.sync.ballot.b32 %0, p, -1;\n"
                 "vote.sync.any.pred q, p, -1; selp.u32 %1, 1, 0, q; }" : "=r"(votes), "=r"(any)
                 : "r"(lane));
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(lane));
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(elected));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; @p add.u32 %0, %0, 1; }"
                 : "+r"(elected));
    own[0] = below, own[1] = other, own[2] = votes, own[3] = any, own[4] = sum, own[5] = leader;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 10;\n"
                 "barrier.cta.red.popc.aligned.u32 %0, 0, p; }" : "=r"(own[7]) : "r"(lane));
    own[6] = elected;
}
__global__ void of_parts(unsigned *out) { // three warps, the last of 16 lanes; disjoint masks
    const unsigned lane = threadIdx.x % 32;
    if (threadIdx.x >= 40 && threadIdx.x < 64) return;
    unsigned value = lane;
    if (threadIdx.x < 32) {
        if (lane & 1) asm volatile("shfl.sync.bfly.b32 %0, %0, 2, 0x1f, 0xaaaaaaaa;" : "+r"(value));
        else asm volatile("redux.sync.add.u32 %0, %0, 0x55555555;" : "+r"(value));
        if (lane == 0) asm volatile("bar.warp.sync 1;");
        if (lane < 2) asm volatile("bar.warp.sync 0x3;");
    } else value = __ballot_sync(~0u, 1) & 0xffff; // of the lanes that are left
    asm volatile("{ .reg .pred p; elect.sync _|p, -1; @p add.u32 %0, %0, 1000; }" : "+r"(value));
    asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = value;
    if (threadIdx.x < 64) __syncthreads(); // bar.sync 0 is the same
    else asm volatile("bar.sync 0, 96;" ::: "memory");
}
int main(int, char **argv) {
    unsigned *out = dev(256, 0u);
    const int how = atoi(argv[1]);
    if (how == 0) barriers<<<1, 96>>>(out);
    if (how == 1) collectives<<<1, 32>>>(out);
    if (how == 2) of_parts<<<1, 80>>>(out);
    RETURN(all(host(out, how == 0 ? 64 : how == 1 ? 256 : 80), [&](int i, unsigned v) {
        const unsigned lane = how == 1 ? i / 8 : i % 32, first = lane == 0;
        const unsigned below = lane ? lane * 3 - 3 : 0;
        const unsigned each[] = {below, lane ^ 16, 31, 1, 31 * 16, 0, first * 2, 10};
        if (how < 2) return v == (how == 1 ? each[i % 8] : i < 32 ? i : i - 32 + 1100u);
        if (i >= 40 && i < 64) return v == 0;
        const unsigned expected = i < 32 ? (lane % 2 ? lane ^ 2 : 15 * 16) : i < 64 ? 0xff : 0xffff;
        return v == expected + first * 1000;
    }));
}
