// More than 48 KB of dynamic shared memory without cudaFuncAttributeMaxDynamicSharedMemorySize: the
// launch fails (CUDA C++ Programming Guide, Compute Capability 7.x: Shared Memory).
// expect: wrong|misuse, says of static and 65536 of dynamic|65536 bytes
// expect -DFIXED: silent
#include "common.h"
__global__ void needs_64_kb(int *out) {
    extern __shared__ int memory[];
    memory[threadIdx.x + 15000] = threadIdx.x;
    out[threadIdx.x] = memory[threadIdx.x + 15000];
}
int main() {
    int *out = dev(32, -1);
    const auto bytes = cudaFuncAttributeMaxDynamicSharedMemorySize;
    if (FIXED) cudaFuncSetAttribute(needs_64_kb, bytes, 64 * 1024);
    needs_64_kb<<<1, 32, 64 * 1024>>>(out);
    RETURN(host(out, 32)[5] == 5); // the launch's error is not asked for
}
