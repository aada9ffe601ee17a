// Threads read a stage and arrive, and the producer overwrites it by a bulk load: no
// fence.proxy.async between the generic reads and the async write (PTX ISA, Async proxy).
// expect: hazard
#include "common.h"
__global__ void k(int *g, int *out) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t full, empty;
    if (threadIdx.x == 0) {
        mb_init(&full, 1);
        mb_init(&empty, 32);
        mb_fence();
    }
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 2; ++i) {
        if (threadIdx.x == 0) {
            if (i) mb_wait(&empty, (i - 1) & 1);
            mb_expect(&full, sizeof s);
            bulk_load(s, g + 32 * i, sizeof s, &full);
        }
        __syncwarp();
        mb_wait(&full, i & 1);
        sum += s[31 - threadIdx.x];
        mb_arrive(&empty);
    }
    out[threadIdx.x] = sum;
}
int main() {
    int *g = dev(64, 2), *o = dev(32, 0); k<<<1, 32>>>(g, o); RETURN(host(o, 32)[5] == 4);
}
