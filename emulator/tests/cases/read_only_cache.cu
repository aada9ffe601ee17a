// __ldg (ld.global.nc) of words that the kernel writes: the data must be read-only for the lifetime
// of the kernel (CUDA C++ Programming Guide, Read-Only Data Cache Load Function; PTX ISA,
// ld.global.nc).
// expect: hazard|race|misuse
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *data, int *out) {
    data[threadIdx.x] = 7;
    __syncthreads();
    if (FIXED) out[threadIdx.x] = data[63 - threadIdx.x];
    else out[threadIdx.x] = __ldg(&data[63 - threadIdx.x]);
}
int main() {
    int *data = dev(64, 0), *out = dev(64, 0); k<<<1, 64>>>(data, out);
    RETURN(host(out, 64)[3] == 7);
}
