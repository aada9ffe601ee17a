// A ring of two stages: the parity of `full` is that of the round, of `empty` the other one (0).
// Wrong are a consumer that always waits for parity 0 (1), a producer that always waits for parity
// 1 (2) or for the round's own (3), and no proxy fence between the reads and the next load (4) (PTX
// ISA, mbarrier.test_wait/try_wait: .parity; Async proxy).
// expect 0: silent
// expect 1, 2: hazard|race|deadlock|misuse
// expect 3: deadlock
// expect 4: hazard
#include "common.h"
__global__ void k(int *from, int *out, int how) {
    __shared__ alignas(128) int s[2][32];
    __shared__ uint64_t full[2], empty[2];
    if (threadIdx.x < 2)
        mb_init(&full[threadIdx.x], 1), mb_init(&empty[threadIdx.x], 32), mb_fence();
    __syncthreads();
    for (int i = 0; i < 6 && threadIdx.x == 32; ++i) {
        const int stage = i % 2, round = i / 2;
        mb_wait(&empty[stage], how == 2 ? 1 : how == 3 ? round & 1 : ~round & 1);
        mb_expect(&full[stage], sizeof s[0]);
        bulk_load(s[stage], from + 32 * i, sizeof s[0], &full[stage]);
    }
    int sum = 0;
    for (int i = 0; i < 6 && threadIdx.x < 32; ++i) {
        mb_wait(&full[i % 2], how == 1 ? 0 : i / 2 & 1);
        sum += s[i % 2][31 - threadIdx.x];
        if (how != 4) fence_async(); // the stage is overwritten through the async proxy
        mb_arrive(&empty[i % 2]);
    }
    if (threadIdx.x < 32) out[threadIdx.x] = sum;
}
int main(int, char **argv) {
    int *from = dev(192, 2), *out = dev(32, 0); k<<<1, 64>>>(from, out, atoi(argv[1]));
    RETURN(host(out, 32)[3] == 12);
}
