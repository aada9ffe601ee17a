// A thread reads what its bulk store wrote: .read waits only for the reads of shared memory; the
// writes are visible to it after wait_group without .read (PTX ISA, cp.async.bulk.wait_group).
// expect: hazard|race
// expect -DFIXED: silent
#include "common.h"
__global__ void k(int *kept, int *out) {
    __shared__ alignas(128) int s[32];
    s[threadIdx.x] = 7;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(kept, s, sizeof s), bulk_commit();
        if (FIXED) bulk_wait();
        else bulk_wait_read();
        out[0] = kept[5];
        bulk_wait();
    }
}
int main() {
    int *kept = dev(32, 0), *out = dev(1, 0); k<<<1, 32>>>(kept, out); RETURN(host(out, 1)[0] == 7);
}
