// RIGHT: CTA 1 writes global memory and arrives at CTA 0's mbarrier with .release.cluster; CTA 0
// waits with .acquire.cluster and reads (PTX ISA, mbarrier.arrive; mbarrier.try_wait).
// expect: silent
#include "common.h"
__global__ void __cluster_dims__(2) k(int *g, int *out) {
    __shared__ uint64_t b;
    if (threadIdx.x == 0) {
        mb_init(&b, 1);
        mb_fence();
    }
    cluster_sync();
    if (cluster_rank() == 1 && threadIdx.x == 0) {
        g[0] = 7;
        mb_arrive_at(&b, 0);
    }
    if (cluster_rank() == 0 && threadIdx.x == 0) {
        mb_wait_cluster(&b, 0);
        out[0] = g[0];
    }
    cluster_sync();
}
int main() { int *g = dev(1, 0), *o = dev(1, 0); k<<<2, 32>>>(g, o); RETURN(host(o, 1)[0] == 7); }
