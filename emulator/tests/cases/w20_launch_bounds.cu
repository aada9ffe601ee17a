// 256 threads are launched of a kernel with __launch_bounds__(128): the launch fails (CUDA C++
// Programming Guide, Launch Bounds).
// expect: wrong|misuse, says InvalidValue: a block of 256 threads, .* allow 128
#include "common.h"
__global__ void __launch_bounds__(128) k(int *out) { out[threadIdx.x] = 1; }
int main() {
    int *o = dev(256, 0); k<<<1, 256>>>(o); CHECK(cudaGetLastError() == cudaSuccess);
    RETURN(host(o, 256)[200] == 1);
}
