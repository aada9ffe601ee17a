// Lanes exchange through shared memory with a shuffle between, which orders no memory (CUDA C++
// Programming Guide, Warp Shuffle Functions).
// expect: race|hazard
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    int v = __shfl_xor_sync(~0u, int(threadIdx.x), 1);
    out[threadIdx.x] = s[31 - threadIdx.x] + 0 * v;
}
int main() { int *o = dev(32, 0); k<<<1, 32>>>(o); RETURN(host(o, 32)[0] == 31); }
