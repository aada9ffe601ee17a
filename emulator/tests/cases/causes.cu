// What a report names as the cause: of a copy that is not waited for, of an arrival that comes too
// early, of what was never written; and the line that called an inline function.
// expect no_wait 64: hazard, says TMA load was issued before.*thread 0 of CTA 0 .*has not waited on
// expect few_bytes 64: hazard|lifetime|deadlock, says fewer bytes were announced on full than came: 64, and 128: thread(?s:.*)were announced here
// expect other_parity 64: deadlock|hazard, says 1 of 1 arrivals missing.*is the parity right
// expect no_wait 64: hazard, says common.h:\d+ +asm.*\n +called from .*causes.cu:\d+ +bulk_load
// expect passes 64: hazard, says last wait .* for phase -1 .which passes at once.*completes phase 0
// expect beyond 64: hazard, says not written yet: a barrier(?s:.*)beside them
// expect counts_one 64: hazard, says the count of full is 1, and 2 threads have arrived on it so far
// expect no_wait_at_all 64: hazard, says the count of full is 1, and 2 threads
// expect arrives_twice 64: hazard|misuse, says It has to wait first
// expect waits 64, ring fixed 64, late fixed 64, store fixed 64: silent
// expect ring 64: hazard|misuse, says refills the stage of full.0. without having waited on empty.0.: for its phase
// expect late 64: lifetime, says is not initialised yet
// expect copies_uncommitted 64: hazard, says never committed: cp.async.commit_group is missing before the cp.async.wait_group in line \d+, which had
// expect store 64: hazard, says not waited for: cp.async.bulk.wait_group.read is missing|may still read what was there: cp.async.bulk.wait_group.read is missing
// expect proxy 64: hazard, says each thread that writes them needs a fence.proxy.async afterwards
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
__global__ void rings(int *in, int *out, How how) {
    __shared__ alignas(128) int s[2][32];
    __shared__ uint64_t full[2], empty[2];
    const int i = threadIdx.x;
    if (how == "late" && !how.fixed && i > 32) return mb_wait(&full[1], 0);
    for (int n = 0; n < 2 && i == 0; ++n) {
        mb_init(&full[n], 1);
        mb_init(&empty[n], 32);
    }
    if (i == 0) mb_fence();
    __syncthreads();
    for (int round = 0; round < 3 && i < 33; ++round) {
        if (i == 32) { // the producer
            if (round > 0 && how.fixed) mb_wait(&empty[0], (round - 1) % 2);
            mb_expect(&full[0], 128), bulk_load(s[0], in, 128, &full[0]);
            continue;
        }
        mb_wait(&full[0], round % 2);
        out[i] = s[0][i];
        fence_async(), mb_arrive(&empty[0]);
    }
}
__global__ void stores(int *in, int *out, How how) {
    __shared__ alignas(128) int s[64];
    const int i = threadIdx.x;
    if (how == "copies_uncommitted") {
        cp_async_4(&s[i], in + i);
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        return void(out[i] = s[i]);
    }
    s[i] = 7;
    if (!(how == "proxy")) fence_async();
    __syncthreads();
    if (i == 0) bulk_store(out, s, sizeof s), bulk_commit();
    if (i == 0 && how.fixed) bulk_wait_read();
    __syncthreads();
    s[i] = 8;
    if (i == 0) bulk_wait();
}
int main(int, char **argv) {
    return run(argv, {{"ring", rings}, {"late", rings}, {"copies", stores}, {"store", stores},
                      {"proxy", stores}, {"", causes}});
}
