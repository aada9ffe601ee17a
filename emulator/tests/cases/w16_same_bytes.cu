// The source of a bulk store is overwritten (and fenced) before the store has read it, with the
// same bytes, as constant inputs have them (PTX ISA, cp.async.bulk.wait_group).
// expect: hazard|race
#include "common.h"
__global__ void k(int *out) {
    __shared__ alignas(128) int s[32];
    for (int i = 0; i < 2; ++i) {
        s[threadIdx.x] = 1;
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(out + 32 * i, s, sizeof s);
            bulk_commit();
        }
        __syncthreads(); // and no wait_group.read
    }
    if (threadIdx.x == 0) bulk_wait();
}
int main() { int *o = dev(64, 0); k<<<1, 32>>>(o); RETURN(host(o, 64)[40] == 1); }
