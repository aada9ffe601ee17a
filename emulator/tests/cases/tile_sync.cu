// tile.sync() of a tile of 16 threads orders its own threads alone; the other half of the warp is
// another tile (CUDA C++ Programming Guide, Cooperative Groups: thread block tile).
// expect: race|hazard
// expect -DFIXED: silent
#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *out) {
    __shared__ int s[64];
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[threadIdx.x] = threadIdx.x;
    tile.sync();
    if (FIXED) out[threadIdx.x] = s[threadIdx.x ^ 15];
    else out[threadIdx.x] = s[threadIdx.x ^ 31];
}
int main() {
    int *out = dev(64, 0); k<<<1, 64>>>(out);
    RETURN(host(out, 64)[3] == 12 || host(out, 64)[3] == 28);
}
