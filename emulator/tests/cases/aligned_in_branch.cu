// ldmatrix is .aligned: all threads of the warp must execute it; here half of them do (PTX ISA,
// ldmatrix: .aligned).
// expect: misuse|deadlock
// expect -DFIXED: silent
#include "common.h"
__global__ void k(uint32_t *out) {
    __shared__ alignas(16) uint32_t tile[32];
    tile[threadIdx.x] = 7;
    __syncthreads();
    uint32_t v = 7;
    if (FIXED || threadIdx.x < 16)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v)
                     : "r"(S32(&tile[threadIdx.x % 8 * 4])) : "memory");
    out[threadIdx.x] = v;
}
int main() { uint32_t *out = dev(32, 0u); k<<<1, 32>>>(out); RETURN(host(out, 32)[3] == 7); }
