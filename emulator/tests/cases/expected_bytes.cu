// Two loads of 128 bytes complete on one mbarrier. If 256 bytes are expected (0), all is right; if
// 128 (1), the second load may be in flight when the phase completes; if 384 (2), it never
// completes (PTX ISA, mbarrier: expect-tx, complete-tx and phase completion).
// expect 0: silent
// expect 1: hazard|race|deadlock|misuse|lifetime
// expect 2: deadlock
#include "common.h"
__global__ void k(int *from, int *out, int bytes) {
    __shared__ alignas(128) int a[32], b[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, bytes);
        bulk_load(a, from, sizeof a, &full), bulk_load(b, from + 32, sizeof b, &full);
    }
    __syncthreads();
    mb_wait(&full, 0);
    out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
int main(int, char **argv) {
    const int how = atoi(argv[1]); int *from = dev(64, 2), *out = dev(32, 0);
    k<<<1, 32>>>(from, out, how == 0 ? 256 : how == 1 ? 128 : 384); RETURN(host(out, 32)[3] == 4);
}
