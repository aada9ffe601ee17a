// An epilogue writes its tile by stmatrix (generic proxy) and stores it by a bulk copy (async
// proxy). Each writer must execute fence.proxy.async before the barrier (PTX ISA, Async proxy).
// expect: hazard
// expect -DFIXED: silent
#include "common.h"
__global__ void k(uint32_t *out) {
    __shared__ alignas(128) uint32_t tile[64]; // of each warp 8 x 8 elements
    const uint32_t row = S32(&tile[threadIdx.x / 32 * 32 + threadIdx.x % 8 * 4]);
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(7)
                 : "memory");
    if (FIXED) fence_async();
    __syncthreads();
    if (threadIdx.x == 0) bulk_store(out, tile, sizeof tile), bulk_commit(), bulk_wait();
}
int main() { uint32_t *out = dev(64, 0u); k<<<1, 64>>>(out); RETURN(host(out, 64)[40] == 7); }
