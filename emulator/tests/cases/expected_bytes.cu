// Two loads of 128 bytes complete on one mbarrier. If 256 bytes are expected (0), all is right; if
// 128 (1), the second load may be in flight when the phase completes; if 384 (2), it never
// completes; elect.sync chooses a lane of EACH warp, so both are issued twice (3) (PTX ISA,
// mbarrier: expect-tx, complete-tx and phase completion; elect.sync).
// expect 0: silent
// expect 1: hazard|race|deadlock|misuse|lifetime
// expect 2: deadlock
// expect 3: deadlock|hazard|misuse|race|lifetime, says (full|mbarrier).*byte|byte.*(full|mbarrier)
#include "common.h"
__global__ void k(int *from, int *out, int how) {
    __shared__ alignas(128) int a[32], b[32];
    __shared__ uint64_t full;
    const int t = threadIdx.x;
    if (t == 0)
        mb_init(&full, 1), mb_fence(), mb_expect(&full, how == 1 ? 128 : how == 2 ? 384 : 256);
    __syncthreads();
    uint32_t elected;
    asm volatile("{ .reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p; }"
                 : "=r"(elected));
    if (elected && (t < 32 || how == 3))
        bulk_load(a, from, sizeof a, &full), bulk_load(b, from + 32, sizeof b, &full);
    __syncthreads();
    mb_wait(&full, 0);
    out[t] = a[t % 32] + b[t % 32];
}
int main(int, char **argv) {
    int *from = dev(64, 2), *out = dev(64, 0); k<<<1, 64>>>(from, out, atoi(argv[1]));
    RETURN(host(out, 64)[3] == 4);
}
