// CUDA C++ that g++ lacks, each construct once. WIDTH comes from the command line.
#include "check.h"
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <widths.h> // in folder/

#ifndef __CUDA_ARCH__
#error "__CUDA_ARCH__ is not defined"
#endif

__constant__ int factors[2];
__device__ int counter;

// ---------------------------------------------------------------------------- shared memory

// Several variables of a declaration, dimensions that depend on parameters, and a type of its own.
template <int ROWS, typename T>
__global__ void __launch_bounds__(ROWS *WIDTH) reversed(T *to, const T *__restrict__ from) {
    __shared__ T tile[ROWS][WIDTH + 1], /* one more: , ; */ last;
    __shared__ alignas(128) struct { int written[ROWS]; } flags;
    const int row = threadIdx.x / WIDTH, column = threadIdx.x % WIDTH;
    tile[row][column] = from[threadIdx.x];
    if (column == 0)
        flags.written[row] = 1;
    if (threadIdx.x == 0)
        last = from[0];
    __syncthreads();
    to[threadIdx.x] = tile[ROWS - 1 - row][WIDTH - 1 - column] * T(flags.written[ROWS - 1 - row]);
    if (threadIdx.x == ROWS * WIDTH - 1)
        to[threadIdx.x] = last;
}

extern __shared__ __align__(16) float outside[];

__device__ float *shifted(int by) { return outside + by; }

__global__ void dynamic(float *to, int count) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    float *own = reinterpret_cast<float *>(bytes);
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        own[i] = 2.0f * i;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        to[i] = outside[i] + shifted(i)[0];
}

// ---------------------------------------------------------------------------- clusters and warps

template <int CTAS>
__global__ void __cluster_dims__(CTAS, 1, 1) ranks(unsigned *to) {
    namespace cg = cooperative_groups;
    const cg::cluster_group cluster = cg::this_cluster();
    const cg::thread_block block = cg::this_thread_block();
    cluster.sync();
    if (block.thread_rank() == 0)
        to[blockIdx.x] = cluster.block_rank() * 100 + cluster.num_blocks() * 10 + block.size() % 10;
}

__global__ void warps(int *to) {
    const int lane = threadIdx.x % warpSize;
    int sum = lane;
    for (int bits = 16; bits > 0; bits /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, bits);
    const unsigned odd = __ballot_sync(0xffffffff, lane & 1);
    __syncwarp();
    if (lane == 0)
        to[blockIdx.x * 2 + threadIdx.x / 32] =
            sum + __popc(odd) * factors[0] + min(3, 4u) + int(max(size_t(5), 6));
    atomicAdd(&counter, 1);
}

// ---------------------------------------------------------------------------- numbers

__global__ void narrow(half *h, __nv_bfloat16 *b, float4 *f) {
    const int i = threadIdx.x;
    h[i] = __hfma(h[i], half(2.0f), __float2half(1)) + h[i] * __ldg(h + i);
    __nv_bfloat16 sums[2] = {0.0};
    sums[0] += b[i];
    b[i] = sums[0] - __nv_bfloat16(3);
    reinterpret_cast<float4 *>(f)[i] = make_float4(i, i + 1, i + 2, i + 3);
}

// ---------------------------------------------------------------------------- launches

#define LAUNCH(kernel, threads, ...) kernel<<<1, threads>>>(__VA_ARGS__)

static void launches() {
    int *from = numbers<int>(4 * WIDTH, 1), *to = numbers<int>(4 * WIDTH, 0);
    reversed<4><<<dim3(1), dim3(4 * WIDTH), 0, nullptr>>>(to, from); // T by its arguments
    CHECK(cudaGetLastError());
    EXPECT(at(to, 0) == 4 * WIDTH && at(to, 4 * WIDTH - 1) == 1);
    reversed
        /* all of them: */<2, int><<<1, 2 * WIDTH>>>(to, from);
    EXPECT(at(to, 0) == 2 * WIDTH);

    float *sums = numbers<float>(WIDTH, 0);
    const size_t bytes = WIDTH * sizeof(float);
    dynamic<<<1, 32, bytes>>>(sums, WIDTH);
    EXPECT(at(sums, WIDTH - 1) == 4.0f * (WIDTH - 1));
    dynamic<<<1, 32, 64 * 1024>>>(sums, WIDTH);
    EXPECT(cudaGetLastError() != cudaSuccess); // more than 48 KB: not without asking
    auto *function = dynamic;
    CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    function<<<1, 32, 64 * 1024>>>(sums, WIDTH);
    CHECK(cudaPeekAtLastError());

    unsigned *clusters = numbers<unsigned>(4, 0);
    ranks<2><<<4, 64>>>(clusters);
    EXPECT(at(clusters, 2) == 24 && at(clusters, 3) == 124);

    const int two = 2;
    CHECK(cudaMemcpyToSymbol(factors, &two, sizeof(two)));
    LAUNCH(warps, 64, to);
    EXPECT(at(to, 1) == 496 + 16 * 2 + 3 + 6 && counter == 64);

    half *h = numbers<half>(8, 0);
    __nv_bfloat16 *b = numbers<__nv_bfloat16>(8, 0);
    float4 *f = nullptr;
    CHECK(cudaMalloc(&f, 8 * sizeof(float4)));
    narrow<<<1, 8>>>(h, b, f);
    EXPECT(__half2float(at(h, 3)) == 16 && float(at(b, 7)) == 4 && at(f, 5).w == 8);
}

static void config_launch() {
    int *to = numbers<int>(4, 0);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {2, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = 2;
    config.blockDim = 64;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, warps, to));
    EXPECT(at(to, 0) == 496 + 16 * 2 + 3 + 6);
}

static void runtime() {
    cudaEvent_t begin, end;
    cudaStream_t stream;
    float milliseconds = -1;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaEventDestroy(begin));
    EXPECT(milliseconds >= 0);
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    EXPECT(properties.warpSize == 32 && properties.sharedMemPerMultiprocessor > 200 * 1024);
    EXPECT(std::getenv("EMULATOR_POLICY") != nullptr && '\'' == 39);
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv) {
    EXPECT(argc == 2 && argv[1][0] == 'x');
    launches();
    config_launch();
    runtime();
    std::printf("%s << %d >>>\n", "kernel<<<1, 1>>>(); // no launch", 1 << 2);
}
