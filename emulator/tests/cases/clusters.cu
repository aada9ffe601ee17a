// Words handed to the other CTA of a cluster, and a peer that exits early (PTX ISA, barrier.cluster;
// mbarrier.arrive; Guide, Distributed Shared Memory).
// expect words 32 2 2: race|hazard
// expect words fixed 32 2 2: silent
// expect arrival 32 2 2: lifetime, says \[cluster-exit\]
// expect arrival_acquired 32 2 2, arrival_awaited 32 2 2, arrival_before_barrier 32 2 2: silent
#include "common.h"
#include <cooperative_groups.h>
__global__ void words(int *in, int *out, How how) { // barrier.cluster.arrive.relaxed orders nothing
    __shared__ int s[32];
    auto cluster = cooperative_groups::this_cluster();
    const unsigned rank = cluster.block_rank(), i = threadIdx.x;
    const int *peers = cluster.map_shared_rank(s, rank ^ 1);
    s[i] = in[i];
    if (how.fixed) asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    else asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[32 * rank + i] = peers[31 - i];
    cluster_sync(); // none exits while it is read
}
// CTA 1 arrives at a barrier of CTA 0, which exits after that only if it waits for it.
__global__ void arrival(int *in, int *out, How how) {
    __shared__ uint64_t b;
    const unsigned rank = cluster_rank(), i = threadIdx.x;
    if (i == 0) mb_init(&b, 1), mb_fence();
    cluster_sync(); // both have begun
    if (rank == 1 && i == 0) out[1] = in[0], mb_arrive_at(&b, 0);
    if (rank == 0 && (how == "arrival_acquired" || how == "arrival_awaited"))
        mb_wait_cluster(&b, 0);
    if (rank == 0 && i == 0) out[0] = how == "arrival_acquired" ? out[1] : 7;
    if (how == "arrival_acquired" || how == "arrival_before_barrier") cluster_sync();
}
int main(int, char **argv) { return run(argv, {{"words", words}, {"arrival", arrival}}); }
