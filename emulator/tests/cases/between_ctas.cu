// Between threads of several CTAs, or of one: flags, counters, locks; between the CTAs of a cluster:
// words, and arrivals at a peer that may have exited (Guide, Memory Fence Functions; Atomic
// Functions; Distributed Shared Memory; PTX ISA, Memory Consistency Model; barrier.cluster).
// expect race_of_ctas 1 8: race|hazard, says CTA 0(?s:.*)(CTA|cluster) 5|(CTA|cluster) 5(?s:.*)CTA 0
// expect atomic_block 1 7, atomic_read 64, atomic_lock 1 7: race|hazard
// expect atomic_block fixed 1 7, atomic_read fixed 64, atomic_lock fixed 1 7: silent
// expect last_unfenced 32 4: hazard, says __threadfence.. after it is missing .acquire-fence
// expect last_cta 32 4, last_gathers 32 4, lookback 1 4, lookback_in_cta 128: race|hazard
// expect last_cta fixed 32 4, lookback fixed 1 4, lookback_in_cta fixed 128: silent
// expect flag_relaxed 1 2, flag_narrow 1 2, flag_of_cluster 1 2, arrival_narrow 32 2 2: race|hazard
// expect flag_released 1 2, last_gathers fixed 32 4, last_fenced 32 4: silent
// expect words 32 2 2: race|hazard
// expect words_signalled 32 2 2: race|hazard, says a peer needs .release.cluster
// expect words fixed 32 2 2, words_signalled fixed 32 2 2: silent
// expect arrival 32 2 2: lifetime, says \[cluster-exit\]
// expect arrival_acquired 32 2 2, arrival_awaited 32 2 2, arrival_before_barrier 32 2 2: silent
#include "common.h"
#include <cooperative_groups.h>
__global__ void race(int *, int *out, How) {
    if (blockIdx.x == 0) out[1] = 7;
    if (blockIdx.x == 5) out[0] = out[1];
}
__global__ void atomics(int *, int *out, How how) {
    if (how == "atomic_block") { // atomic for the threads of one CTA alone
        if (how.fixed) atomicAdd(out, 1);
        else atomicAdd_block(out, 1);
    }
    if (how == "atomic_read") { // a plain read without a barrier
        atomicAdd(out + 300, 1);
        if (how.fixed) __syncthreads();
        out[threadIdx.x] = seven_if(out[300] == 64);
    }
    if (how == "atomic_lock") { // CUDA's atomics are relaxed
        while (atomicCAS(out + 300, 0, 1) != 0) {}
        if (how.fixed) __threadfence();
        out[0] = out[0] + 1;
        if (how.fixed) __threadfence();
        atomicExch(out + 300, 0);
    }
}
// Split-K: the last CTA to arrive adds up; a fence must precede the increment.
__global__ void last_cta(int *, int *out, How how) {
    __shared__ bool last;
    volatile int *part = out + 260;
    if (threadIdx.x == 1) part[blockIdx.x] = blockIdx.x;
    if (how == "last_fenced") __threadfence(); // each thread for itself, as PyTorch's reductions do
    const bool fenced = how == "last_unfenced" || how.fixed;
    if (how == "last_cta" || how == "last_fenced" || fenced) __syncthreads(); // thread 0 publishes what thread 1 wrote
    if (threadIdx.x == 0) {
        if (how == "last_gathers" || fenced) __threadfence();
        last = atomicAdd(out + 300, 1) == int(gridDim.x) - 1;
    }
    __syncthreads();
    if (!last || threadIdx.x != 0) return;
    if ((how != "last_cta" && how != "last_unfenced") || how.fixed) __threadfence();
    for (unsigned i = 0; i < gridDim.x; ++i) out[0] += part[i] + !i;
}
// Volatile accesses are relaxed: __threadfence must stand between data and flag, and within a CTA
// __threadfence_block.
__global__ void lookback(int *, int *out, How how) {
    volatile int *flags = out + 300;
    const int own = blockIdx.x + threadIdx.x / 32;
    const auto fence = [&] {
        if (how == "lookback" && how.fixed) __threadfence();
        else if (how == "lookback" || how.fixed) __threadfence_block();
    };
    if (threadIdx.x % 32 != 0) return;
    int *sums = out + 260, before = 0;
    if (own > 0) {
        while (flags[own - 1] == 0) {}
        fence();
        before = sums[own - 1];
    }
    sums[own] = before + 1;
    fence();
    flags[own] = 1;
    if (own == 3) out[0] = sums[3] + 3;
}
__global__ void by_ptx(int *in, int *out, How how) {
    int *flag = out + 300;
    if (blockIdx.x == 0) {
        out[1] = in[0];
        if (how == "flag_released")
            asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        if (how == "flag_relaxed")
            asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        if (how == "flag_narrow") // lacks the reader, as does the next one
            asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        if (how == "flag_of_cluster")
            asm volatile("st.release.cluster.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        return;
    }
    for (int set = 0; !set;)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
    out[0] = out[1];
}
__device__ void mb_arrive_narrow(uint64_t *b, unsigned rank) {
    asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [r]; }" ::"r"(S32(b)), "r"(rank) : "memory");
}
__global__ void words(int *in, int *out, How how) { // barrier.cluster.arrive.relaxed orders nothing
    __shared__ int s[32];
    __shared__ uint64_t b;
    auto cluster = cooperative_groups::this_cluster();
    const unsigned rank = cluster.block_rank(), i = threadIdx.x;
    const int *peers = cluster.map_shared_rank(s, rank ^ 1);
    if (i == 0) mb_init(&b, 32), mb_fence();
    cluster_sync(); // both have begun
    s[i] = in[i];
    if (how == "words_signalled") { // an arrival of .cta scope says no more than that
        if (how.fixed) mb_arrive_at(&b, rank ^ 1);
        else mb_arrive_narrow(&b, rank ^ 1);
        mb_wait_cluster(&b, 0);
    } else if (how.fixed) asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    else asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    if (how == "words") asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[32 * rank + i] = peers[31 - i];
    cluster_sync(); // none exits while it is read
}
// CTA 1 arrives at a barrier of CTA 0, which exits after that only if it waits for it.
__global__ void arrival(int *in, int *out, How how) {
    __shared__ uint64_t b;
    const unsigned rank = cluster_rank(), i = threadIdx.x;
    if (i == 0) mb_init(&b, 1), mb_fence();
    cluster_sync(); // both have begun
    const bool narrow = how == "arrival_narrow", reads = how == "arrival_acquired" || narrow;
    if (rank == 1 && i == 0) {
        out[1] = in[0];
        if (narrow) mb_arrive_narrow(&b, 0); // .cta lacks the peer
        else mb_arrive_at(&b, 0);
    }
    if (rank == 0 && (reads || how == "arrival_awaited")) mb_wait_cluster(&b, 0);
    if (rank == 0 && i == 0) out[0] = reads ? out[1] : 7;
    if (reads || how == "arrival_before_barrier") cluster_sync();
}
int main(int, char **argv) {
    return run(argv, {{"race_", race}, {"atomic_", atomics}, {"last_", last_cta},
                      {"lookback", lookback}, {"flag_", by_ptx}, {"words", words},
                      {"arrival", arrival}});
}
