// Tensor maps, and tiles outside of memory (PTX ISA, membar/fence: .proxy.tensormap;
// cp.async.bulk.tensor; Guide, Using TMA; Driver, cuTensorMapEncodeTiled).
// expect local: misuse, says a thread's local memory.*\[local-map\]
// expect global: misuse, says map in global memory.*\[global-map\]
// expect parameter, global fixed: silent
// expect no_map: misuse, says never encoded
// expect tile_odd: misuse, says 128-byte aligned
// expect tile_past_shared: address, says of the shared memory
// expect box_past_allocation: address, says of an allocation of 400
// expect narrower_than_its_swizzle: misuse, says narrower rows
#include "common.h"
__device__ void load(const CUtensorMap *map, int offset, int *out) {
    __shared__ alignas(128) int tile[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, 128);
        tile_load(tile + offset, map, &full);
    }
    __syncthreads();
    mb_wait(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void k(const __grid_constant__ CUtensorMap map, CUtensorMap *kept, int *out, How how) {
    if (how == "global" && threadIdx.x == 0) {
        *kept = map;
        if (how.fixed)
            asm volatile("fence.proxy.tensormap::generic.release.gpu;\n"
                         "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(kept)
                         : "memory");
    }
    load(how == "global" ? kept : &map,
         how == "tile_odd" ? 8 : how == "tile_past_shared" ? 32 : 0, out);
}
__global__ void local(CUtensorMap map, int *out) { load(&map, 0, out); }
int main(int, char **argv) {
    const How how = how_of(argv);
    int *in = dev(100, 7), *out = dev(32, 0); CUtensorMap map{}, *kept; cudaMalloc(&kept, sizeof map);
    if (how == "narrower_than_its_swizzle") map = map_of(in, 4, 8, 4, CU_TENSOR_MAP_SWIZZLE_128B);
    else if (!(how == "no_map")) // a box as high as it all
        map = map_of(in, 4, how == "box_past_allocation" ? 50 : 8, 4, CU_TENSOR_MAP_SWIZZLE_NONE);
    if (how == "local") local<<<1, 32>>>(map, out);
    else k<<<1, 32>>>(map, kept, out, how);
    RETURN(host(out, 32)[9] == 7);
}
