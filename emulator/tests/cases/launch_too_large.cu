// Launches that fail: 1,056 threads (1), a grid of 65,536 in y (2), a grid that is no multiple of
// the cluster (3), a cluster of 16 (4) and 64 KB of dynamic shared memory (7) without the attribute
// that allows it, an empty grid (5), 256 threads of a kernel with __launch_bounds__(128) (6) (CUDA
// C++ Programming Guide, Technical Specifications per Compute Capability; Thread Block Clusters;
// Launch Bounds). 1,024 threads (0), and 4 and 7 with their attributes (8) are right.
// expect 0, 8: silent
// expect 1, 2, 3: wrong|misuse
// expect 4: wrong, says ClusterSize: a cluster of 16 x 1 x 1 CTAs: 1 to 8
// expect 5: wrong, says InvalidValue: a grid of 1 x 0 x 1
// expect 6: wrong, says InvalidValue: a block of 256 threads, .* allow 128
// expect 7: wrong, says 65536 bytes of dynamic shared memory, and the kernel may have 49152
#include "common.h"
__global__ void k(int *out) {
    if (threadIdx.x == 7 && blockIdx.x == 0 && blockIdx.y == 0) out[0] = 1;
}
__global__ void __launch_bounds__(128) bounded(int *out) { out[0] = 1; }
__global__ void needs_64_kb(int *out) {
    extern __shared__ int memory[];
    memory[threadIdx.x + 15000] = 1;
    out[threadIdx.x / 32] = memory[15000];
}
int main(int, char **argv) {
    int *out = dev(1, 0);
    const int how = atoi(argv[1]);
    cudaError_t error = cudaSuccess;
    if (how == 8) {
        CHECK(!cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        cudaFuncSetAttribute(needs_64_kb, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
    }
    const dim3 grid(1, how == 2 ? 65536 : how == 5 ? 0 : 1);
    if (how < 3 || how == 5) k<<<grid, how == 1 ? 1056 : how == 2 ? 32 : 1024>>>(out);
    if (how == 3) error = launch_as(2, dim3(3), 32, k, out);
    if (how == 4 || how == 8) error = launch_as(16, dim3(16), 32, k, out);
    if (how == 6) bounded<<<1, 256>>>(out);
    if (how == 7 || how == 8) needs_64_kb<<<1, 1, 64 * 1024>>>(out);
    CHECK(error == cudaSuccess && cudaGetLastError() == cudaSuccess);
    RETURN(host(out, 1)[0] == 1);
}
