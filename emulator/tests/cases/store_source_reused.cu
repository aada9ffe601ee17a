// The source of a bulk store is overwritten. wait_group.read (0) and wait_group (1) by the thread
// that stored are enough; no wait (2), a wait that lets one group be in flight (3) and one by
// another thread, which has no groups (4), are not (PTX ISA, cp.async.bulk.wait_group).
// expect 0, 1: silent
// expect 2, 3, 4, 5: hazard, says may still read what (is|was) there|was issued before, and not waited for
#include "common.h"
__global__ void k(int *out, int how) {
    __shared__ alignas(128) int s[64];
    for (int i = 0; i < 2; ++i) {
        s[threadIdx.x] = how == 5 ? 1 : 10 * i + 1; // 5: the same bytes, and no wait
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(out + 64 * i, s, sizeof s), bulk_commit();
            if (how == 0) bulk_wait_read();
            if (how == 1) bulk_wait();
            if (how == 3) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        } else if (threadIdx.x == 32 && how == 4) bulk_wait_read();
        __syncthreads();
    }
    if (threadIdx.x == 0) bulk_wait();
}
int main(int, char **argv) {
    int *out = dev(128, 0); k<<<1, 64>>>(out, atoi(argv[1]));
    RETURN(host(out, 128)[40] == 1 && host(out, 128)[100] == 11);
}
