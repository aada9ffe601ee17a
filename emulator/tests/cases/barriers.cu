// Barriers, and lanes of a warp that do not run in lockstep (PTX ISA, barrier; shfl.sync; Guide,
// Independent Thread Scheduling).
// expect barrier_16: misuse, says ids are 0 to 15
// expect barrier_of_two_warps: misuse, says not whole warps(?s:.*)64
// expect barrier_of_48 64: misuse, says not whole warps
// expect two_counts 64: misuse|deadlock
// expect count_too_large 64: deadlock
// expect arrived_twice 96: misuse, says warp 0 .*arrives a second time in one phase of barrier 1
// expect half_a_warp 64: deadlock, says barrier 1: 32 of 64 threads .* of warp 1 lanes 0x0000ffff
// expect some_wait 64 2 2: deadlock, says CTA 0 \(0 to 4, 6 to 31\): barrier 4: 32 of 64(?s:.*)CTA 1 has exited
// expect pairs 128: hazard|misuse, says not ordered after the phase before
// expect pairs fixed 128: silent
// expect two_arrivals: misuse, says a second barrier.cluster.arrive
// expect some_exit 64 2 2: silent
// expect wait_alone: misuse, says without an arrive
// expect two_votes: misuse, says diverged: 
// expect half_load: misuse, says diverged|exited
// expect some_synchronise 64: misuse, says of warp 1 .*went past __syncthreads, which is .aligned
// expect last_synchronise 64: misuse, says of warp 1 .*went past a named barrier
// expect shuffle_of_others 64: misuse|deadlock
// expect shuffle_outside 64: misuse, says which does not take part
// expect lane_exited: misuse, says which exited
// expect without_itself: misuse, says without the lane itself
// expect two_forms: misuse, says diverged
// expect read_for_ever: deadlock, says thread 3 of CTA 0: reads the same memory
// expect added_for_ever: deadlock, says thread 3 of CTA 0: reads(?s:.*)atomicAdd
// expect only_a_shuffle, other_tile: race|hazard
// expect only_a_shuffle fixed, other_tile fixed: silent
#include "common.h"
#include <cooperative_groups.h>
__device__ void load_rows(const void *from) {
    uint32_t v, w;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v), "=r"(w)
                 : "r"(S32(from)));
}
__global__ void k(int *in, int *out, How how) {
    __shared__ alignas(16) int s[256];
    const int i = threadIdx.x;
    s[i] = in[i];
    s[i + 128] = 0;
    __syncthreads();
    // named barriers
    if (how == "barrier_16") asm volatile("barrier.sync 16, 32;");
    if (how == "barrier_of_two_warps") asm volatile("barrier.sync 1, 64;");
    if (how == "barrier_of_48") asm volatile("barrier.sync 1, 48;");
    if (how == "two_counts") asm volatile("barrier.sync 1, %0;" ::"r"(i < 32 ? 64 : 96));
    if (how == "count_too_large") {
        if (i < 32) asm volatile("barrier.sync 1, 64;");
        else __syncthreads();
    }
    if (how == "arrived_twice") {
        if (i >= 32 && i < 64) asm volatile("bar.sync 1, 96;");
        for (int n = 0; n < 2 && i < 32; ++n) asm volatile("bar.arrive 1, 96;");
    }
    if (how == "half_a_warp") {
        if (i < 48) asm volatile("barrier.sync 1, 64;");
        else asm volatile("barrier.sync 2, 64;");
    }
    if (how == "some_wait" && cluster_rank() == 0 && i != 5) {
        if (i < 32) asm volatile("barrier.sync 4, 64;");
        else if (i == 40) __syncwarp();
    }
    // Two pairs of warps: on one barrier, one pair may complete the other pair's phase.
    for (int round = 0; how == "pairs" && round < 4; ++round)
        asm volatile("bar.sync %0, 64;" ::"r"(how.fixed ? 1 + i / 64 : 1) : "memory");
    if (how == "pairs") out[i] = 7;
    // barriers of the cluster
    for (int n = 0; how == "two_arrivals" && n < 2; ++n) asm volatile("barrier.cluster.arrive;");
    if (how == "some_exit") { // before the barrier, and after they arrived
        if (i == 0) return;
        asm volatile("barrier.cluster.arrive;");
        if (i == 1) return;
        asm volatile("barrier.cluster.wait;");
        if (i == 2 && cluster_rank() == 1) out[0] = 7;
    }
    if (how == "wait_alone") asm volatile("barrier.cluster.wait;");
    // aligned instructions, and collectives
    if (how == "two_votes") {
        if (i < 16) __any_sync(~0u, 1);
        else __all_sync(~0u, 1);
    }
    if (how == "half_load" && i < 16) load_row(s);
    if (how == "some_synchronise" && i < 40) __syncthreads();
    if (how == "last_synchronise" && i >= 40) asm volatile("bar.sync 1, 32;");
    if (how == "shuffle_of_others" && i < 16) __shfl_sync(~0u, i, 1);
    if (how == "shuffle_outside" && i < 16) __shfl_sync(0xffff, i, 20);
    if (how == "shuffle_of_others") __syncthreads();
    if (how == "lane_exited") {
        if (i == 31) return;
        load_row(s);
    }
    if (how == "without_itself") __syncwarp(1);
    if (how == "two_forms") {
        if (i < 3) load_row(s);
        else load_rows(s);
    }
    // waits by reads
    const volatile int *read = out;
    while (how == "read_for_ever" && i == 3 && *read == 0);
    while (how == "added_for_ever" && i == 3 && atomicAdd(out, 0) == 0);
    // exchanges of lanes that are not in lockstep
    if (how == "only_a_shuffle") {
        s[i] = in[i];
        if (how.fixed) __syncwarp();
        else __shfl_xor_sync(~0u, i, 1);
        out[i] = s[31 - i];
    }
    if (how == "other_tile") {
        s[i] = in[i];
        cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block()).sync();
        out[i] = s[i ^ (how.fixed ? 15 : 31)];
    }
    s[i + 128] = s[i]; // by its last access a lane is known to be past the .aligned instructions
}
int main(int, char **argv) { return run(argv, {{"", k}}); }
