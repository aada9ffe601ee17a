// RIGHT by the model: all write, __syncthreads, then the thread that stores executes
// fence.proxy.async, which lies on the causality path (PTX ISA, Memory Consistency Model: proxy-
// preserved base causality order).
// expect: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_async();
        bulk_store(out, s, sizeof s);
        bulk_commit();
        bulk_wait();
    }
}
int main() {
    int *o = dev(128, 0); k<<<1, 128>>>(o);
    RETURN(all(host(o, 128), [](int i, int v) { return v == i; }));
}
