// Launches that fail: 1,056 threads (1), a grid of 65,536 in y (2), a grid that is no multiple of
// the cluster (3), a cluster of 16 without the attribute for it (4), an empty grid (5) (CUDA C++
// Programming Guide, Technical Specifications per Compute Capability; Thread Block Clusters). 1,024
// threads (0) are right.
// expect 0: silent
// expect 1, 2, 3: wrong|misuse
// expect 4: wrong, says ClusterSize: a cluster of 16 x 1 x 1 CTAs: 1 to 8
// expect 5: wrong, says InvalidConfiguration: a grid of 1 x 0 x 1
#include "common.h"
__global__ void k(int *out) {
    if (threadIdx.x == 7 && blockIdx.x == 0 && blockIdx.y == 0) out[0] = 1;
}
int main(int, char **argv) {
    int *out = dev(1, 0);
    const int how = atoi(argv[1]);
    cudaError_t error = cudaSuccess;
    const dim3 grid(1, how == 2 ? 65536 : how == 5 ? 0 : 1);
    if (how < 3 || how == 5) k<<<grid, how == 1 ? 1056 : how == 2 ? 32 : 1024>>>(out);
    else error = how == 3 ? launch_as(2, dim3(3), 32, k, out) : launch_as(16, dim3(16), 32, k, out);
    CHECK(error == cudaSuccess && cudaGetLastError() == cudaSuccess);
    RETURN(host(out, 1)[0] == 1);
}
