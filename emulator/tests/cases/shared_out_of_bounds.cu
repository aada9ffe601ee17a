// A transpose with a padded pitch of 33 in a tile declared 32 x 32: the last rows are past the end
// of shared memory (CUDA C++ Programming Guide, __shared__).
// expect: address
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[32 * (FIXED ? 33 : 32)];
    for (int i = 0; i < 32; ++i) s[i * 33 + threadIdx.x] = i;
    __syncwarp();
    for (int i = 0; i < 32; ++i) out[32 * i + threadIdx.x] = s[threadIdx.x * 33 + i];
}
int main() { int *out = dev(1024, 0); k<<<1, 32>>>(out); RETURN(host(out, 1024)[3] == 3); }
