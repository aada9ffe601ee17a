// Launches and registers, within the limits and past them. The first argument is the case; those
// from `no_` on have a mistake, on the line that says so.
#include <cstring>

#include "check.h"

#ifdef FEW
#define COUNT "160"
#else
#define COUNT "240"
#endif

__global__ void __launch_bounds__(128, 1) few_threads(int *to) { to[blockIdx.x] = blockDim.x; }

template <int BYTES>
__global__ void shared(int *to) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[BYTES / 4]; // STATIC
    fixed[threadIdx.x] = dynamic[threadIdx.x] = 3;
    to[blockIdx.x] = fixed[threadIdx.x];
}

__global__ void registers(int *to, bool by_warps) {
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else if (!by_warps || threadIdx.x < 160)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " COUNT ";"); // INCREASE
    to[0] = 1;
}

static cudaError_t launch_cluster(int *to, unsigned size) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size, 1, 1};
    config.gridDim = size;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, few_threads, to);
}

int main(int, char **argv) {
    int *to = numbers<int>(16, 0);
    const auto is = [&](const char *name) { return std::strcmp(argv[1], name) == 0; };
    if (is("right")) {
        few_threads<<<1, 128>>>(to);
        shared<16384><<<1, 32, 32768>>>(to);
        EXPECT(cudaFuncSetAttribute(few_threads, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                    1) == cudaSuccess);
        CHECK(launch_cluster(to, 16));
        EXPECT(at(to, 15) == 32);
        void *arguments[] = {&to};
        CHECK(cudaLaunchKernel((void *)few_threads, dim3(1), dim3(64), arguments, 0, nullptr));
        EXPECT(at(to, 0) == 64);
    }
    if (is("registers"))
        registers<<<1, 512>>>(to, false);
    if (is("no_whole_warpgroup"))
        registers<<<1, 256>>>(to, true);
    if (is("no_large_cluster"))
        CHECK(launch_cluster(to, 16));
    if (is("no_such_block"))
        few_threads<<<1, 129>>>(to);
    if (is("no_grid"))
        few_threads<<<0, 128>>>(to);
    if (is("no_shared_memory"))
        shared<16384><<<1, 32, 32769>>>(to);
    CHECK(cudaGetLastError());
}
