// Between accesses of threads (generic proxy) and of bulk copies (async proxy) fence.proxy.async is
// needed: of a tile that stmatrix wrote (stmatrix) and of global memory that threads wrote
// (global). Right by the model is a fence by the thread that stores, after __syncthreads (reader).
// A bulk store's own writes are visible to its thread after wait_group without .read (back) (PTX
// ISA, Async proxy; Memory Consistency Model: proxy-preserved base causality order;
// cp.async.bulk.wait_group).
// expect stmatrix, global: hazard
// expect back: hazard|race
// expect stmatrix -DFIXED, global -DFIXED, back -DFIXED, reader: silent
#include "common.h"
__global__ void k(int *g, int *out, unsigned how) {
    __shared__ alignas(128) int s[64];
    __shared__ uint64_t b;
    const int i = threadIdx.x;
    if (how == word("stmatrix"))
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
                     ::"r"(S32(&s[i / 32 * 32 + i % 8 * 4])), "r"(7) : "memory");
    else s[i] = 7;
    g[i] = 7;
    if (i == 0) mb_init(&b, 1), mb_fence();
    if (FIXED || how == word("back")) asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (i == 0 && how == word("global")) {
        mb_expect(&b, sizeof s), bulk_load(s, g, sizeof s, &b), mb_wait(&b, 0);
        out[0] = s[5];
    } else if (i == 0) {
        if (how == word("reader")) fence_async();
        bulk_store(out, s, sizeof s), bulk_commit();
        if (how == word("back") && !FIXED) bulk_wait_read();
        else bulk_wait();
        out[0] = out[5];
        bulk_wait();
    }
}
int main(int, char **argv) {
    int *g = dev(64, 0), *out = dev(64, 0); k<<<1, 64>>>(g, out, word(argv[1]));
    RETURN(host(out, 64)[0] == 7);
}
