// Words handed to the other CTA of a cluster through distributed shared memory, by a read of it (0,
// 2) or a write to it (1, 3): barrier.cluster.arrive.relaxed orders no accesses (0, 1), the default
// is .release. Global data handed over by a remote arrive.release.cluster and a
// wait.acquire.cluster (4). CTA 1 arrives at a barrier of CTA 0, which may have exited (5); right
// are a barrier of the cluster at the end (6), and a wait for the arrival (7) (PTX ISA,
// barrier.cluster; mbarrier.arrive; CUDA C++ Programming Guide, Distributed Shared Memory).
// expect 0, 1: race|hazard
// expect 2, 3, 4, 6, 7: silent
// expect 5: lifetime, says \[cluster-exit\]
#include "common.h"
#include <cooperative_groups.h>
__global__ void __cluster_dims__(2) k(int *g, int *out, int how) {
    __shared__ int s[32];
    __shared__ uint64_t b;
    auto cluster = cooperative_groups::this_cluster();
    const unsigned rank = cluster.block_rank(), i = threadIdx.x;
    int *peers = cluster.map_shared_rank(s, rank ^ 1);
    if (i == 0) mb_init(&b, 1), mb_fence();
    cluster_sync(); // both have begun
    if (how >= 4) {
        if (rank == 1 && i == 0) g[0] = 7, mb_arrive_at(&b, 0);
        if (rank == 0 && (how == 4 || how == 7)) mb_wait_cluster(&b, 0);
        if (rank == 0 && how == 4 && i == 0) out[0] = g[0];
        if (how == 4 || how == 6) cluster_sync();
        return;
    }
    (how & 1 ? peers : s)[i] = 10 * rank + i;
    if (how < 2) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    else asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[32 * rank + i] = (how & 1 ? s : peers)[31 - i];
    cluster_sync(); // none exits while it is read
}
int main(int, char **argv) {
    const int how = atoi(argv[1]); int *g = dev(1, 0), *out = dev(64, 0); k<<<2, 32>>>(g, out, how);
    RETURN(how > 4 || host(out, 64)[0] == (how == 4 ? 7 : 41));
}
