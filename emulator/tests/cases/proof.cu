// Gaps in the proof that one run decides for all orders (PTX ISA, mbarrier: Phase Completion; red).
// expect ring 64: silent, says one run, if polls that never failed are waits: \S+common.h:46\n
// expect wait_missed 96: silent|hazard|deadlock, says condition 3 fails: .*common.h:46\n
// expect late_bytes 64: hazard, says late-announcement(.|\n)*proof.cu:26
// expect peek 64: silent, says condition 5 fails: .*proof.cu:30\n
// expect clock: silent, says condition 5 fails: a clock is read, at \S+proof.cu:32\n
// expect sum 64, sum_read_early fixed 96: silent, says one run, up to the order of floating-point
// expect sum_ticket 64: silent, says condition 5 fails: .*proof.cu:37; --explore 10000 tries all
// expect sum_read_early 96: race
#include "common.h"
__global__ void waits(int *in, int *out, How how) {
    __shared__ alignas(16) int tile[32];
    __shared__ uint64_t full, empty;
    const int i = threadIdx.x;
    if (i == 0) mb_init(&full, 1), mb_init(&empty, 1), mb_fence();
    __syncthreads();
    for (int k = 0; k < 4 && how == "ring"; ++k) {
        if (i == 32)
            mb_wait(&empty, ~k & 1), mb_expect(&full, 128), bulk_load(tile, in, 128, &full);
        if (i == 0) mb_wait(&full, k & 1), out[k] = tile[k], fence_async(), mb_arrive(&empty);
    }
    if (how == "wait_missed" && i == 0) mb_wait(&full, 0); // it is soon enough by luck
    if (how == "wait_missed" && i == 32) mb_arrive(&full), mb_wait(&empty, 0), mb_arrive(&full);
    if (how == "wait_missed" && i == 64) mb_arrive(&empty);
    if (how == "late_bytes" && i == 0) { // the other arrival may come first, and ends the phase
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 128;" ::"r"(S32(&full)));
        bulk_load(tile, in, 128, &full), mb_wait(&full, 0), out[0] = tile[0];
    }
    if (how == "late_bytes" && i == 32) mb_arrive(&full);
    if (how == "peek") asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%0], "
                                    "0; }" ::"r"(S32(&full)));
    if (how == "clock") asm volatile("mov.u32 %0, %%clock;" : "=r"(tile[0]));
    if (!(how == "ring")) out[i] = 7;
}
__global__ void sums(int *, int *out, How how) {
    const int i = threadIdx.x, read_early = how == "sum_read_early";
    if (how == "sum_ticket") out[i] = 7 * (atomicAdd(out + 300, 1) < 64);
    else if (i < 64) atomicAdd(reinterpret_cast<float *>(out + 301), 1);
    if (how.fixed) __syncthreads();
    else if (read_early && i >= 32) asm volatile("bar.sync 1, 64;"); // not with the first warp
    if (i >= 64) out[2] = 7 * (out[301] != 0);
    if (i == 0) out[0] = 7;
}
int main(int, char **argv) { return run(argv, {{"sum", sums}, {"", waits}}); }
