// RIGHT on an H100: a cluster of 16 after cudaFuncAttributeNonPortableClusterSizeAllowed (CUDA C++
// Programming Guide, Thread Block Clusters).
// expect: silent
#include "common.h"
__global__ void k(int *out) {
    uint32_t n;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    if (threadIdx.x == 0) out[blockIdx.x] = n;
}
int main() {
    int *o = dev(16, 0);
    CHECK(!cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CHECK(launch_as(16, dim3(16), 32, k, o) == cudaSuccess); RETURN(host(o, 16)[5] == 16);
}
