// A reduction in shared memory by one warp without __syncwarp: lanes do not run in lockstep (CUDA
// C++ Programming Guide, Independent Thread Scheduling).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *out) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    for (int n = 16; n > 0; n /= 2) {
        if (FIXED) __syncwarp();
        const int other = s[(threadIdx.x + n) % 32];
        if (FIXED) __syncwarp();
        s[threadIdx.x] += other;
    }
    out[threadIdx.x] = s[threadIdx.x];
}
int main() { int *out = dev(32, 0); k<<<1, 32>>>(out); RETURN(host(out, 32)[0] == 496); }
