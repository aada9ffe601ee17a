// RIGHT: kernels' parameters, constants, aligned dynamic shared memory, and memory of the host that
// kernels may access: page-locked and managed (CUDA C++ Programming Guide, Device Memory).
// A fault of the host's own is not the kernel's.
// expect right: silent
// expect host_fault: crash
#include "common.h"
#include <csignal>
struct Parameters {
    float4 scale;
    int *to;
};
__constant__ int offset;
__global__ void k(const float4 scale, Parameters more, const int *from, const int *locked) {
    extern __shared__ __align__(128) int words[];
    words[threadIdx.x] = from[threadIdx.x] + offset;
    more.to[0] = int(scale.x + more.scale.y) + words[threadIdx.x] + locked[5];
    more.to[1] = int(__cvta_generic_to_shared(words) % 128);
}
int main(int, char **argv) {
    int *locked = nullptr, *managed = nullptr, *out = dev(2, -1);
    const int ten = 10;
    cudaMallocHost(&locked, 128), cudaMallocManaged(&managed, 128);
    for (int i = 0; i < 32; ++i) locked[i] = managed[i] = i;
    cudaMemcpyToSymbol(offset, &ten, sizeof ten);
    const float4 four = make_float4(1, 2, 3, 4);
    k<<<1, 1, 128>>>(four, {four, out}, managed, locked);
    const std::vector<int> sums = host(out, 2);
    float *fresh = nullptr;
    cudaMalloc(&fresh, 4);
    const float value = host(fresh, 1)[0];
    if (argv[1][0] == 'h') signal(SIGSEGV, SIG_DFL), *(volatile int *)64 = 0;
    RETURN(sums[0] == 3 + 10 + 5 && sums[1] == 0 && value != value && cudaFreeHost(locked) == 0);
}
