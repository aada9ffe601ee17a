// Right on a GPU, and not modelled: a box whose rows (64 bytes) are narrower than its 128-byte
// swizzle (CUDA Driver API, cuTensorMapEncodeTiled). It is rejected, because no rung has one.
// expect: misuse, says narrower rows
#include "common.h"
__global__ void k(const __grid_constant__ CUtensorMap map, int *out) {
    __shared__ alignas(1024) int tile[8 * 32];
    __shared__ uint64_t b;
    if (threadIdx.x == 0) {
        mb_init(&b, 1);
        mb_fence();
        mb_expect(&b, 8 * 64);
        tile_load(tile, &map, &b);
    }
    __syncthreads();
    mb_wait(&b, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    const CUtensorMap map = map_of(dev(8 * 32, 3), 32, 8, 16, CU_TENSOR_MAP_SWIZZLE_128B);
    int *o = dev(32, 0); k<<<1, 32>>>(map, o); RETURN(host(o, 32)[0] == 3);
}
