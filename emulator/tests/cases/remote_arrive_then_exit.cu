// CTA 1 arrives at a barrier of CTA 0, which may have exited (CUDA C++ Programming Guide,
// Distributed Shared Memory: all operations on it must end before its block exits). Right are a
// barrier of the cluster at the end (1), and a wait for the arrival (2).
// expect 0: lifetime, says \[cluster-exit\]
// expect 1, 2: silent
#include "common.h"
__global__ void __cluster_dims__(2) k(int *out, int how) {
    __shared__ uint64_t b;
    if (threadIdx.x == 0) mb_init(&b, 1), mb_fence();
    cluster_sync();
    out[32 * cluster_rank() + threadIdx.x] = 1;
    if (cluster_rank() == 1 && threadIdx.x == 0) mb_arrive_at(&b, 0);
    if (how == 2 && cluster_rank() == 0) mb_wait_cluster(&b, 0);
    if (how == 1) cluster_sync();
}
int main(int, char **argv) {
    int *out = dev(64, 0); k<<<2, 32>>>(out, atoi(argv[1])); RETURN(host(out, 64)[40] == 1);
}
