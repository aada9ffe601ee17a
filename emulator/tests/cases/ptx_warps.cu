// RIGHT: barriers and collectives of warps in the forms in which kernels use them, with lanes that
// the CTA does not have or that have exited (PTX ISA, barrier; shfl.sync; vote.sync; redux.sync;
// elect.sync; bar.warp.sync).
// expect barriers 96, collectives, of_parts 80: silent
#include "common.h"
__global__ void barriers(int *, int *out, How) { // a warp arrives, one waits; then all; warps in turn
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
    if (warp < 2) out[i] = seven_if(s[i] == (warp == 0 ? i : i - 32 + 1100));
    asm volatile("bar.warp.sync 0xffffffff;\n\tmembar.cta;\n\tfence.acq_rel.gpu; fence.sc.cta;");
}
__global__ void collectives(int *, int *out, How) {
    const unsigned lane = threadIdx.x;
    unsigned below, other, votes, any, sum, leader, elected, count;
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
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 10;\n"
                 "barrier.cta.red.popc.aligned.u32 %0, 0, p; }" : "=r"(count) : "r"(lane));
    out[lane] = seven_if(below == (lane ? lane * 3 - 3 : 0) && other == (lane ^ 16) &&
                         votes == 31 && any == 1 && sum == 31 * 16 && leader == 0 &&
                         elected == (lane == 0) * 2 && count == 10);
}
__global__ void of_parts(int *, int *out, How) { // three warps, the last of 16 lanes; disjoint masks
    const unsigned lane = threadIdx.x % 32;
    if (threadIdx.x >= 40 && threadIdx.x < 64) return;
    unsigned value = lane, expected = lane % 2 ? lane ^ 2 : 15 * 16;
    if (threadIdx.x < 32) {
        if (lane & 1) asm volatile("shfl.sync.bfly.b32 %0, %0, 2, 0x1f, 0xaaaaaaaa;" : "+r"(value));
        else asm volatile("redux.sync.add.u32 %0, %0, 0x55555555;" : "+r"(value));
        if (lane == 0) asm volatile("bar.warp.sync 1;");
        if (lane < 2) asm volatile("bar.warp.sync 0x3;");
    } else {
        value = __ballot_sync(~0u, 1) & 0xffff; // of the lanes that are left
        expected = threadIdx.x < 64 ? 0xff : 0xffff;
    }
    asm volatile("{ .reg .pred p; elect.sync _|p, -1; @p add.u32 %0, %0, 1000; }" : "+r"(value));
    asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = seven_if(value == expected + (lane == 0) * 1000);
    if (threadIdx.x < 64) __syncthreads(); // bar.sync 0 is the same
    else asm volatile("bar.sync 0, 96;" ::: "memory");
}
int main(int, char **argv) {
    return run(argv, {{"barriers", barriers}, {"collectives", collectives}, {"of_", of_parts}});
}
