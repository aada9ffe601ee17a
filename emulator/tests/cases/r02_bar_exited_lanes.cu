// RIGHT: bar.sync counts a warp as 32 threads, whichever are active: 48 threads are two warps (PTX
// ISA, barrier: the arrival count is incremented by the warp size).
// expect: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[48];
    s[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[threadIdx.x] = s[47 - threadIdx.x];
}
int main() {
    int *o = dev(48, 0); k<<<1, 48>>>(o);
    RETURN(all(host(o, 48), [](int i, int v) { return v == 47 - i; }));
}
