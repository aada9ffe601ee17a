// mbarriers: wrong uses, their initialisation, and cp.async (PTX ISA, mbarrier;
// cp.async.mbarrier.arrive; .noinc: the count has it).
// expect arrival_too_few: deadlock, says 32 threads(?s:.*)1 of 33 arrivals missing
// expect tested_for_ever: deadlock, says 32 threads(?s:.*)1 of 1 arrivals missing
// expect arrival_too_many: misuse, says more arrivals than the barrier's count, 2
// expect no_complete: misuse, says completes a phase by an arrival with .noComplete
// expect never_initialised: lifetime, says is not initialised yet(?s:.*)mbarrier.arrive
// expect too_many_bytes: misuse, says counts 1048576 bytes
// expect relaxed_arrival 64: race, says nothing orders the two
// expect old_token: misuse, says a token of phase 0, and is in phase 2
// expect missed_phase: hazard|deadlock, says went on by 2 phases
// expect no_arrivals: misuse, says 1 to 1048575 arrivals, not 0
// expect overwritten_barrier: lifetime, says after its bytes were overwritten
// expect init_twice 64, init_unfenced 64: hazard|lifetime|misuse
// expect init_twice fixed 64, init_unfenced fixed 64: silent
// expect copied 64: hazard|race|lifetime
// expect copied fixed 64, copied_besides 64: silent
#include "common.h"
__global__ void misused(int *, int *out, How how) {
    __shared__ int data;
    __shared__ uint64_t b;
    const int i = threadIdx.x;
    const int count = how == "arrival_too_few"    ? 33
                      : how == "arrival_too_many" ? 2
                      : how == "no_arrivals"      ? 0
                                                  : 1;
    if (i == 0 && how != "never_initialised") mb_init(&b, count), mb_fence();
    __syncthreads();
    if (how == "arrival_too_few") mb_arrive(&b), mb_wait(&b, 0);
    for (uint32_t v = 0; how == "tested_for_ever" && !v;)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.b32 "
                     "%0, 1, 0, p; }" : "=r"(v) : "r"(S32(&b)));
    if (how == "arrival_too_many" && i == 0) {
        mb_arrive(&b);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(S32(&b)));
    }
    uint64_t token;
    if (how == "no_complete")
        asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1;" : "=l"(token)
                     : "r"(S32(&b)));
    if (how == "never_initialised") mb_arrive(&b);
    if (how == "too_many_bytes") mb_expect(&b, 1 << 20);
    if (how == "relaxed_arrival") {
        if (i == 0) data = 7;
        if (i == 0) asm volatile("mbarrier.arrive.relaxed.cta.shared.b64 _, [%0];" ::"r"(S32(&b)));
        if (i == 32) mb_wait(&b, 0), out[0] = data;
    }
    if (how == "old_token" && i == 0) {
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(S32(&b)));
        mb_arrive(&b);
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%0], %1; }" ::"r"(S32(&b)),
                     "l"(token));
    }
    if (how == "missed_phase") {
        if (i == 1) mb_wait(&b, 0);
        if (i == 0) mb_arrive(&b), mb_arrive(&b);
    }
    if (how == "overwritten_barrier" && i == 0) b += 1, mb_arrive(&b);
}
__global__ void initialised(int *in, int *out, How how) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t b;
    const int i = threadIdx.x;
    if (how == "init_unfenced") { // __syncthreads is no fence for copies
        if (i == 0) mb_init(&b, 1);
        if (i == 0 && how.fixed) mb_fence(), fence_async();
        __syncthreads();
        if (i == 32) mb_expect(&b, sizeof s), bulk_load(s, in, sizeof s, &b);
        mb_wait(&b, 0);
        out[i] = s[i % 32];
    }
    for (int tile = 0; tile < 2 && how == "init_twice"; ++tile) { // without mbarrier.inval
        if (i == 0) mb_init(&b, 64), mb_fence();
        __syncthreads();
        mb_arrive(&b), mb_wait(&b, 0);
        __syncthreads();
        if (how.fixed && i == 0)
            asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(S32(&b)) : "memory");
        out[i] = 7;
    }
}
// An ordinary arrival does not wait for the thread's copies.
__global__ void copied(int *in, int *out, How how) {
    __shared__ int s[64];
    __shared__ uint64_t full;
    const int i = threadIdx.x;
    if (i == 0) mb_init(&full, 64), mb_fence();
    __syncthreads();
    cp_async_4(&s[i], in + i), cp_async_commit();
    if (how.fixed)
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(S32(&full))
                     : "memory");
    else if (how == "copied_besides") // an arrival more, which counts itself
        asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];\n"
                     "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(S32(&full)));
    else mb_arrive(&full);
    mb_wait(&full, 0);
    out[i] = s[63 - i];
}
int main(int, char **argv) {
    return run(argv, {{"init_", initialised}, {"copied", copied}, {"", misused}});
}
