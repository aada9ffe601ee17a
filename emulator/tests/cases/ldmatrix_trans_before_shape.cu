// RIGHT: ptxas also takes .trans before the shape, as ldmatrix is often written.
// expect: silent
#include "common.h"
__global__ void kernel(uint32_t *out) {
    __shared__ __align__(16) uint16_t tile[8 * 8];
    tile[threadIdx.x] = tile[threadIdx.x + 32] = threadIdx.x;
    __syncwarp();
    uint32_t x;
    asm volatile("ldmatrix.sync.aligned.x1.trans.m8n8.shared.b16 {%0}, [%1];" : "=r"(x)
                 : "r"(S32(&tile[threadIdx.x % 8 * 8])) : "memory");
    out[threadIdx.x] = x;
}
int main() {
    uint32_t *out = dev(32, 0u); kernel<<<1, 32>>>(out);
    RETURN(cudaDeviceSynchronize() == cudaSuccess);
}
