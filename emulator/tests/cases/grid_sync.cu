// RIGHT: grid sync in a cooperative launch, as persistent kernels use it. It runs, or a message
// says that clusters that wait for each other are beyond the emulator.
// expect: silent|unknown
#include <cooperative_groups.h>
#include "common.h"
namespace cg = cooperative_groups;
__global__ void kernel(int *part, int *out) {
    part[blockIdx.x] = blockIdx.x;
    cg::this_grid().sync();
    out[blockIdx.x] = part[(blockIdx.x + 1) % gridDim.x];
}
int main() {
    int *part = dev(4, 0), *out = dev(4, 0); void *arguments[] = {&part, &out};
    CHECK(!cudaLaunchCooperativeKernel((void *)kernel, dim3(4), dim3(1), arguments, 0, nullptr));
    RETURN(host(out, 4)[3] == 0 && host(out, 4)[0] == 1);
}
