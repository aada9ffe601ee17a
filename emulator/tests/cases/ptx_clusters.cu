// RIGHT: what CTAs of a cluster do with each other: mapa, reads, writes, atomics, arrivals with and
// without bytes, copies, a tile for both (PTX ISA, mapa; st.async; cp.async.bulk; .multicast).
// expect arrivals 32 4 2, writes 32 2 2, tile: silent
#include "common.h"
__global__ void arrivals(int *, int *out, How) {
    __shared__ uint64_t b;
    alignas(8) __shared__ unsigned mine[2];
    unsigned rank, count, x, of_one, theirs[2];
    asm("mov.u32 %0, %%cluster_ctarank;\n\tmov.u32 %1, %%cluster_nctaid.x;" : "=r"(rank),
        "=r"(count));
    if (threadIdx.x == 0) mb_init(&b, 33);
    if (threadIdx.x < 2) mine[threadIdx.x] = 100 * (rank + 1) + threadIdx.x;
    asm volatile("barrier.cluster.arrive;\n" : :);
    asm volatile("barrier.cluster.wait;\n" : :);
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %2, %3;\n"
                 "ld.shared::cluster.v2.u32 {%0, %1}, [remote]; }" : "=r"(theirs[0]),
                 "=r"(theirs[1]) : "r"(S32(mine)), "r"((rank + 1) % count));
    mb_arrive_at(&b, (rank + 1) % count);
    if (threadIdx.x == 0)
        asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\n"
                     "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [remote], 64;\n"
                     "mbarrier.complete_tx.shared::cluster.b64 [remote], 64; }" ::"r"(S32(&b)),
                     "r"((rank + 1) % count));
    mb_wait(&b, 0);
    asm("{ .reg .b32 r; mapa.shared::cluster.u32 r, %1, 1; getctarank.shared::cluster.u32 %0, r; }"
        : "=r"(of_one) : "r"(S32(&b)));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    const unsigned first = 100 * ((rank + 1) % count + 1); // what the neighbour has
    out[blockIdx.x * 32 + threadIdx.x] = seven_if(theirs[0] == first && theirs[1] == first + 1 &&
                                                  x == rank && of_one == 1);
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;");
}
__global__ void writes(int *, int *out, How) {
    __shared__ __align__(16) unsigned s[16], source[4];
    __shared__ uint64_t full;
    const unsigned rank = cluster_rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 16; ++i) s[i] = 0, source[i % 4] = 10 * rank + i % 4;
        mb_init(&full, 1), mb_fence(), fence_async(), mb_expect(&full, 24);
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        asm volatile("{ .reg .u32 to, bar; .reg .u64 generic;\n"
                     "mapa.shared::cluster.u32 to, %0, %3;\nmapa.shared::cluster.u32 bar, %1, %3;\n"
                     "mapa.u64 generic, %4, %3;\nst.shared::cluster.u32 [to], %5;\n"
                     "red.relaxed.cluster.shared::cluster.add.u32 [to+4], %5;\n"
                     "st.u32 [generic+8], %5;\n"
                     "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [to+16], {%5, "
                     "%5}, [bar];\n"
                     "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                     "[to+32], [%2], 16, [bar]; }" ::"r"(S32(s)), "r"(S32(&full)), "r"(S32(source)),
                     "r"(rank ^ 1), "l"(s), "r"(rank + 1) : "memory");
        mb_wait_cluster(&full, 0);
    }
    cluster_sync();
    const unsigned sent = 2 - rank, written[] = {sent, sent, sent, 0, sent, sent, 0, 0};
    if (threadIdx.x < 12)
        out[rank * 12 + threadIdx.x] =
            seven_if(s[threadIdx.x] == (threadIdx.x < 8 ? written[threadIdx.x]
                                                        : 10 * (rank ^ 1) + threadIdx.x - 8));
}
// A box for both CTAs, loaded by one, incremented and stored beside the other's.
__global__ void __cluster_dims__(2) tile(const __grid_constant__ CUtensorMap from,
                                         const __grid_constant__ CUtensorMap to) {
    __shared__ alignas(128) int s[256];
    __shared__ uint64_t full;
    const int rank = cluster_rank();
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&from) : "memory");
        mb_init(&full, 1), mb_fence();
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;");
    if (threadIdx.x == 0) {
        uint64_t policy;
        asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;"
                     : "=l"(policy));
        mb_expect(&full, sizeof s);
        if (rank == 0)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx"
                         "::bytes.multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], "
                         "%5, %6;" ::"r"(S32(s)), "l"(&from), "r"(S32(&full)), "r"(0), "n"(0),
                         "h"((unsigned short)3), "l"(policy) : "memory");
    }
    mb_wait(&full, 0);
    for (int i = threadIdx.x; i < 256; i += 64) s[i] += rank + 1;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                     ::"l"(&to), "r"(S32(s)), "r"(rank * 32), "r"(0) : "memory");
        bulk_commit(), bulk_wait_read();
        asm volatile("cp.async.bulk.wait_group %0;" ::"n"(0) : "memory");
    }
    cluster_sync();
}
int main(int, char **argv) {
    if (argv[2]) return run(argv, {{"arrivals", arrivals}, {"writes", writes}});
    int *in = dev(256, 5), *to = dev(512, 0);
    const auto map = [](int *p, cuuint64_t columns) {
        return map_of(CU_TENSOR_MAP_DATA_TYPE_INT32, p, {columns, 8}, {4 * columns}, {32, 8});
    };
    tile<<<2, 64>>>(map(in, 32), map(to, 64));
    RETURN(all(host(to, 512), [](int i, int v) { return v == 6 + i / 32 % 2; }));
}
