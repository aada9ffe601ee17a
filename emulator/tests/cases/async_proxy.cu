// Copies by the async proxy: fences before them, waits for what they read and write (PTX ISA, Async
// proxy; cp.async.bulk; cp.async.bulk.wait_group).
// expect by_stmatrix 64, in_global 64, in_global_but_shared_fenced 64, read_before 64: hazard
// expect written_back 64: hazard|race
// expect by_stmatrix fixed 64, in_global fixed 64, read_before fixed 64: silent
// expect written_back fixed 64, fenced_by_reader 64: silent
// expect source_waited 64, source_read 64: silent
// expect source_of_one 64: hazard, says may still read what (is|was) there|was issued before, and not waited for
// expect load_uninitialised: lifetime, says is not initialised yet
// expect loaded_twice: hazard|lifetime, says TMA load was issued before, and not waited for
// expect stored_twice: hazard, says nothing orders the two|the earlier one of the same thread|not waited for
// expect not_committed: misuse, says never committed
// expect exits_early: lifetime, says CTA 0 exits while a TMA store
#include "common.h"
__global__ void fences(int *in, int *out, How how) {
    __shared__ alignas(128) int s[64];
    __shared__ uint64_t b;
    const int i = threadIdx.x;
    if (how == "by_stmatrix")
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                     ::"r"(S32(&s[i / 32 * 32 + i % 8 * 4])), "r"(7) : "memory");
    else s[i] = 7;
    in[i] = 7;
    if (i == 0) mb_init(&b, 1), mb_fence();
    if (how.fixed || how == "written_back") asm volatile("fence.proxy.async;" ::: "memory");
    if (how == "in_global_but_shared_fenced") fence_async();
    __syncthreads();
    if (i == 0 && (how == "in_global" || how == "in_global_but_shared_fenced")) {
        mb_expect(&b, sizeof s), bulk_load(s, in, sizeof s, &b), mb_wait(&b, 0);
        out[0] = s[5];
    } else if (i == 0) {
        if (how == "fenced_by_reader") fence_async(); // right by the model
        bulk_store(out, s, sizeof s), bulk_commit();
        // The store's writes are visible to its thread after wait_group without .read.
        if (how == "written_back" && !how.fixed) bulk_wait_read();
        else bulk_wait();
        out[0] = out[5];
        bulk_wait();
    }
}
__global__ void read_before(int *in, int *out, How how) { // what the copy overwrites
    __shared__ alignas(128) int s[64];
    __shared__ uint64_t full;
    const int i = threadIdx.x;
    if (i == 0) mb_init(&full, 1), mb_fence();
    s[i] = 0, fence_async();
    __syncthreads();
    out[i] = s[63 - i];
    if (how.fixed) fence_async();
    __syncthreads();
    if (i == 0) mb_expect(&full, sizeof s), bulk_load(s, in, sizeof s, &full);
    mb_wait(&full, 0);
    out[i] = s[i];
}
__global__ void source(int *, int *out, How how) { // of a bulk store, and overwritten
    __shared__ alignas(128) int s[64];
    for (int i = 0; i < 2; ++i) {
        s[threadIdx.x] = 7; // the same bytes are a hazard, too
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(out + 64 * i, s, sizeof s), bulk_commit();
            if (how == "source_read") bulk_wait_read();
            if (how == "source_waited") bulk_wait();
            if (how == "source_of_one")
                asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) bulk_wait();
}
__global__ void misused(int *in, int *out, How how) {
    __shared__ alignas(128) int s[32];
    __shared__ uint64_t b;
    s[threadIdx.x] = 0;
    fence_async();
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (how != "load_uninitialised") mb_init(&b, 1), mb_fence();
    if (how == "load_uninitialised") bulk_load(s, in, 128, &b);
    if (how == "loaded_twice") bulk_load(s, in, 128, &b), bulk_load(s, in, 128, &b);
    if (how == "stored_twice") {
        bulk_store(out, s, 128), bulk_store(out + 16, s, 128);
        bulk_commit(), bulk_wait();
    }
    if (how == "not_committed") bulk_store(out, s, 128), bulk_wait();
    if (how == "exits_early") bulk_store(out, s, 128), bulk_commit();
}
int main(int, char **argv) {
    return run(argv, {{"by_stmatrix", fences}, {"in_global", fences}, {"written_back", fences},
                      {"fenced_by_reader", fences}, {"read_before", read_before},
                      {"source_", source}, {"", misused}});
}
