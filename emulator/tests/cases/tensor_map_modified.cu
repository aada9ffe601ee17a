// A kernel writes a tensor map to global memory and uses it: it needs
// fence.proxy.tensormap::generic.release by the writer and .acquire with the map's address by the
// user (PTX ISA, membar/fence; CUDA C++ Programming Guide, Modifying a tensor map).
// expect: hazard|lifetime|misuse, says map in global memory.*\[global-map\]
// expect -DFIXED: silent
#include "common.h"
__global__ void k(const __grid_constant__ CUtensorMap given, CUtensorMap *map, int *out) {
    __shared__ alignas(128) int tile[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        *map = given;
        if (FIXED) asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
        if (FIXED)
            asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map)
                         : "memory");
        mb_init(&full, 1), mb_fence(), mb_expect(&full, sizeof tile);
        tile_load(tile, map, &full);
    }
    __syncthreads();
    mb_wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    const CUtensorMap map = map_of(dev(32, 5), 4, 8, 4, CU_TENSOR_MAP_SWIZZLE_NONE);
    CUtensorMap *kept; int *out = dev(32, 0); cudaMalloc(&kept, sizeof map);
    k<<<1, 32>>>(map, kept, out); RETURN(host(out, 32)[3] == 5);
}
