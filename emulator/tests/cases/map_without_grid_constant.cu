// A CUtensorMap passed by value without const __grid_constant__: its address is that of a local
// copy, which TMA cannot read (CUDA C++ Programming Guide, Using TMA to transfer multi-dimensional
// arrays).
// expect: misuse, says a thread's local memory.*\[local-map\]
// expect -DFIXED: silent
#include "common.h"
#if FIXED
#define MAP const __grid_constant__ CUtensorMap
#else
#define MAP CUtensorMap // BUG
#endif
__global__ void kernel(MAP map, int *out) {
    __shared__ __align__(128) int tile[32];
    __shared__ __align__(8) uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1);
        mb_fence();
        fence_async();
        mb_expect(&full, 128);
        tile_load(tile, &map, &full);
    }
    __syncthreads();
    mb_wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    const CUtensorMap map = map_of(dev(32, 3), 4, 8, 4, CU_TENSOR_MAP_SWIZZLE_NONE);
    int *out = dev(32, 0); kernel<<<1, 32>>>(map, out); RETURN(host(out, 32)[9] == 3);
}
