// Words are handed to the other CTA of a cluster through distributed shared memory, by a read of it
// (0, 2) or a write to it (1, 3). barrier.cluster.arrive.relaxed orders no memory accesses; the
// default is .release (PTX ISA, barrier.cluster).
// expect 0, 1: race|hazard
// expect 2, 3: silent
#include "common.h"
#include <cooperative_groups.h>
__global__ void __cluster_dims__(2) k(int *out, int how) {
    __shared__ int s[32];
    auto cluster = cooperative_groups::this_cluster();
    const unsigned rank = cluster.block_rank();
    int *peers = cluster.map_shared_rank(s, rank ^ 1);
    cluster_sync(); // both have begun
    (how & 1 ? peers : s)[threadIdx.x] = 10 * rank + threadIdx.x;
    if (how < 2) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    else asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[32 * rank + threadIdx.x] = (how & 1 ? s : peers)[31 - threadIdx.x];
    cluster_sync(); // none exits while it is read
}
int main(int, char **argv) {
    int *out = dev(64, 0); k<<<2, 32>>>(out, atoi(argv[1]));
    RETURN(host(out, 64)[0] == 41 && host(out, 64)[32] == 31);
}
