// A tensor map that is no const __grid_constant__ parameter is a local copy, which TMA cannot read
// (local); one that a kernel writes to global memory needs fence.proxy.tensormap::generic.release
// by the writer and .acquire with the map's address by the user (global) (CUDA C++ Programming
// Guide, Using TMA; Modifying a tensor map; PTX ISA, membar/fence).
// expect local: misuse, says a thread's local memory.*\[local-map\]
// expect global: misuse, says map in global memory.*\[global-map\]
// expect local -DFIXED, global -DFIXED: silent
#include "common.h"
#if FIXED
#define MAP const __grid_constant__ CUtensorMap
#else
#define MAP CUtensorMap
#endif
__global__ void k(MAP map, CUtensorMap *kept, int *out, bool global) {
    __shared__ alignas(128) int tile[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, sizeof tile);
        if (global) {
            *kept = map;
            if (FIXED) asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
            if (FIXED)
                asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(kept)
                             : "memory");
        }
        tile_load(tile, global ? kept : &map, &full);
    }
    __syncthreads();
    mb_wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
int main(int, char **argv) {
    const CUtensorMap map = map_of(dev(32, 3), 4, 8, 4, CU_TENSOR_MAP_SWIZZLE_NONE);
    CUtensorMap *kept; int *out = dev(32, 0); cudaMalloc(&kept, sizeof map);
    k<<<1, 32>>>(map, kept, out, argv[1][0] == 'g'); RETURN(host(out, 32)[9] == 3);
}
