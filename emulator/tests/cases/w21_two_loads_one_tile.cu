// Two bulk loads into the same tile are in flight at once, and nothing orders them; the second
// should win (PTX ISA, cp.async.bulk: no ordering between bulk copies).
// expect: hazard|race|wrong
#include "common.h"
__global__ void k(int *g, int *out) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t b;
    if (threadIdx.x == 0) {
        mb_init(&b, 1);
        mb_fence();
        mb_expect(&b, 256);
        bulk_load(s, g, 128, &b);
        bulk_load(s, g + 32, 128, &b);
    }
    __syncthreads();
    mb_wait(&b, 0);
    out[threadIdx.x] = s[threadIdx.x];
}
int main() {
    int *g = dev(64, 2), *o = dev(32, 0); std::vector<int> h(32, 7);
    cudaMemcpy(g + 32, h.data(), 128, cudaMemcpyHostToDevice); k<<<1, 32>>>(g, o);
    RETURN(host(o, 32)[5] == 7);
}
