// Lanes of a warp do not run in lockstep: a reduction in shared memory without __syncwarp (0), an
// exchange with only a shuffle, which orders no memory, between (1), and one with another tile than
// tile.sync() orders (2) (CUDA C++ Programming Guide, Independent Thread Scheduling; Warp Shuffle
// Functions; Cooperative Groups: thread block tile).
// expect 0, 1, 2: race|hazard
// expect 0 -DFIXED, 1 -DFIXED, 2 -DFIXED: silent
#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *out, int how) {
    __shared__ int s[32];
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int i = threadIdx.x;
    s[i] = i;
    for (int n = 16; how == 0 && n > 0; n /= 2) {
        if (FIXED) __syncwarp();
        const int other = s[(i + n) % 32];
        if (FIXED) __syncwarp();
        s[i] += other;
    }
    if (how == 1 && FIXED) __syncwarp();
    else if (how == 1) __shfl_xor_sync(~0u, i, 1);
    if (how == 2) tile.sync();
    out[i] = how == 0 ? s[i] : how == 1 ? s[31 - i] : s[i ^ (FIXED ? 15 : 31)];
}
int main(int, char **argv) {
    const int how = atoi(argv[1]); int *out = dev(32, 0); k<<<1, 32>>>(out, how);
    RETURN(host(out, 32)[0] == (how == 0 ? 496 : how == 2 && FIXED ? 15 : 31));
}
