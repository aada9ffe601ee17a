// What a report names as the cause: of a copy that is not waited for, of an arrival that comes too
// early, of what was never written; and the line that called an inline function.
// expect no_wait 64: hazard, says TMA load was issued before.*thread 0 of CTA 0 .*has not waited on
// expect few_bytes 64: hazard|lifetime|deadlock, says fewer bytes were announced on full than came .64 fewer.: thread(?s:.*)were announced here
// expect other_parity 64: deadlock|hazard, says 1 of 1 arrivals missing.*is the parity right
// expect no_wait 64: hazard, says common.h:\d+ +asm.*\n +called from .*causes.cu:\d+ +bulk_load
// expect passes 64: hazard, says last wait .* for phase -1 .which passes at once.*completes phase 0
// expect beyond 64: hazard, says not written yet, like all 384 bytes from offset(?s:.*)beside them
// expect counts_one 64: hazard, says the count of full, 1, may be too small: the phase before was complete without all
// expect no_wait_at_all 64: hazard, says No thread has waited on this barrier
// expect arrives_twice 64: hazard|misuse, says It has to wait first
// expect waits 64: silent
#include "common.h"
__global__ void causes(int *in, int *out, How how) {
    __shared__ alignas(128) int s[128];
    __shared__ uint64_t full;
    const int i = threadIdx.x;
    if (i == 0) mb_init(&full, 1), mb_fence();
    if (i == 0 && (how == "counts_one" || how == "passes")) mb_wait(&full, 1); // passes at once
    __syncthreads();
    if (how == "counts_one" || how == "no_wait_at_all") return mb_arrive(&full);
    if (i == 0) {
        mb_expect(&full, how == "few_bytes" || how == "arrives_twice" ? 64 : 128);
        bulk_load(s, in, 64, &full);
        if (how == "arrives_twice") mb_expect(&full, 64);
        bulk_load(s + 16, in + 16, 64, &full);
    }
    __syncthreads();
    if (how != "no_wait" && how != "passes") mb_wait(&full, how == "other_parity");
    if (i < 32) out[i] = s[how == "beyond" ? i + 96 : i];
}
int main(int, char **argv) { return run(argv, {{"", causes}}); }
