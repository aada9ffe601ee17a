// elect.sync chooses one lane of EACH warp, so four copies are issued where the barrier expects one
// (PTX ISA, elect.sync). Reported with the barrier's name and bytes.
// expect: deadlock|hazard|misuse|race|lifetime, says (full|mbarrier).*byte|byte.*(full|mbarrier)
// expect -DFIXED: silent
#include "common.h"
__global__ void kernel(const char *from, char *to) {
    __shared__ __align__(128) char tile[1024];
    __shared__ __align__(8) uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1);
        mb_fence();
        fence_async();
        mb_expect(&full, 1024);
    }
    __syncthreads();
    uint32_t elected;
    asm volatile("{ .reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p; }"
                 : "=r"(elected));
    if (FIXED) elected = elected && threadIdx.x < 32;
    if (elected) bulk_load(tile, from, 1024, &full);
    mb_wait(&full, 0);
    to[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    char *from = dev(1024, '1'), *to = dev(1024, '0'); kernel<<<1, 128>>>(from, to);
    RETURN(cudaDeviceSynchronize() == cudaSuccess);
}
