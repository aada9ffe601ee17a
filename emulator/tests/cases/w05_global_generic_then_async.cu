// Threads write global memory (generic proxy), __syncthreads, one loads it by cp.async.bulk (async
// proxy) without fence.proxy.async between (PTX ISA, Async proxy).
// expect: hazard
#include "common.h"
__global__ void k(int *g, int *out) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t b;
    g[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) {
        mb_init(&b, 1);
        mb_fence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mb_expect(&b, sizeof s);
        bulk_load(s, g, sizeof s, &b);
    }
    mb_wait(&b, 0);
    out[threadIdx.x] = s[threadIdx.x];
}
int main() {
    int *g = dev(32, 0), *o = dev(32, 0); k<<<1, 32>>>(g, o); RETURN(host(o, 32)[5] == 5);
}
