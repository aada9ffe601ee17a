// Half a warp shuffles, the other half waits at __syncthreads. Right is a mask of those that come
// (0). Wrong are a mask that names lanes which never come (1), and a source lane outside the mask
// (2) (CUDA C++ Programming Guide, Warp Shuffle Functions; PTX ISA, shfl.sync).
// expect 0: silent
// expect 1: misuse|deadlock
// expect 2: misuse|hazard|race|lifetime
#include "common.h"
__global__ void k(int *out, int how) {
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_sync(how == 1 ? ~0u : 0xffffu, v, how == 2 ? 20 : threadIdx.x ^ 1);
    __syncthreads();
    out[threadIdx.x] = v;
}
int main(int, char **argv) {
    int *out = dev(64, 0); k<<<1, 64>>>(out, atoi(argv[1])); RETURN(host(out, 64)[40] == 40);
}
