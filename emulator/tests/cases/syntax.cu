// RIGHT: CUDA C++ that g++ lacks, each construct once.
// expect: silent
#ifdef KERNEL // this file, which it includes by a macro, as many drivers do
__global__ void lanes(int *to) { asm("mov.u32 %0, %%laneid;" : "=r"(to[threadIdx.x])); }
#else
#define KERNEL "syntax.cu"
#include "common.h"
#include <cooperative_groups.h>
#include KERNEL
#ifndef __CUDA_ARCH__
#error "__CUDA_ARCH__ is not defined"
#endif
constexpr int WIDTH = 16;
__constant__ int factors[2];
__device__ int counter;
template <typename T, int N> struct Fixed { T at[N]; };
// Several variables of a declaration, dimensions that depend on parameters, and a type of its own.
template <int ROWS, typename T>
__global__ void __launch_bounds__(ROWS *WIDTH) reversed(T *to, const T *__restrict__ from) {
    __shared__ T tile[ROWS][WIDTH + 1], /* one more: , ; */ last;
    __shared__ alignas(128) struct { int written[ROWS], none; } flags;
    __shared__ alignas(16) Fixed<unsigned long long, 2> one, ones[min(2, ROWS)];
    const int row = threadIdx.x / WIDTH, column = threadIdx.x % WIDTH;
    tile[row][column] = from[threadIdx.x];
    if (column == 0) flags.written[row] = 1;
    if (threadIdx.x == 0) last = from[0], one.at[1] = ones[1].at[0] = 1;
    __syncthreads();
    to[threadIdx.x] = tile[ROWS - 1 - row][WIDTH - 1 - column] * T(flags.written[ROWS - 1 - row]);
    if (threadIdx.x == ROWS * WIDTH - 1) to[threadIdx.x] = last * T(one.at[1] * ones[1].at[0]);
}
extern __shared__ __align__(16) float outside[];
__device__ float *shifted(int by) { return outside + by; }
__global__ void dynamic(float *to, int count) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    float *own = reinterpret_cast<float *>(bytes);
    for (int i = threadIdx.x; i < count; i += blockDim.x) own[i] = 2.0f * i;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = outside[i] + shifted(i)[0];
}
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
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffff, sum, bits);
    const unsigned odd = __ballot_sync(0xffffffff, lane & 1);
    __syncwarp();
    if (lane == 0)
        to[blockIdx.x * 2 + threadIdx.x / 32] =
            sum + __popc(odd) * factors[0] + min(3, 4u) + int(max(size_t(5), 6));
    atomicAdd(&counter, 1);
}
// A kernel that is declared, template arguments and comparisons that look like launches, a member
// template of a parameter, a function that is inline twice.
__global__ void sevens(int *to);
struct Seven {
    static constexpr int n = 1;
    template <int N> __device__ static int times() { return 7 * N; }
};
inline __device__ __forceinline__ int more(int n) { return n < 2 || (1 > (0)) ? n : 0; }
namespace inner {
template <typename T, bool ONE> __global__ void of_type(int *to) {
    to[threadIdx.x] = T::n < 2 && ONE ? more(T::times<1>()) : 0;
}
} // namespace inner
__global__ void sevens(int *to) { to[threadIdx.x] += threadIdx.x % warpSize < 32 ? 7 : 0; }
// Nothing uses these: instructions that are not known, as the Limits of notes/check-your-kernel.md
// list, do no harm in them.
#define NEVER_USED(dst, src) \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::128B [%0], [%1], 16;" \
                 ::"l"(dst), "r"(src))
__global__ void not_launched(unsigned a, unsigned b, uint64_t t, CUtensorMap *map) {
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(a) : "l"(t));
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map),
                 "l"(t));
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %3, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %2, p, 1, 1, 0, "
                 "0; }" : "+r"(a), "+r"(b) : "l"(t), "r"(a));
}
template <int N> __device__ void never_called(int (&d)[4], uint32_t a, uint32_t b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, "
                 "{%5,%5}, {%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a), "r"(b));
}
#define LAUNCH(kernel, threads, ...) kernel<<<1, threads>>>(__VA_ARGS__)
int main() {
    int *from = dev(4 * WIDTH, 7), *to = dev(4 * WIDTH, 0);
    reversed<4><<<dim3(1), dim3(4 * WIDTH), 0, nullptr>>>(to, from); // T by its arguments
    CHECK(all(host(to, 4 * WIDTH), [](int, int v) { return v == 7; }));
    reversed
        /* all of them: */<2, int><<<1, 2 * WIDTH>>>(to, from);
    inner::of_type<Seven, true> <<<1, 32>>>(to);
    sevens<<<1, 32>>>(to);
    CHECK(all(host(to, 32), [](int, int v) { return v == 14; }));
    float *sums = dev(WIDTH, 0.f);
    dynamic<<<1, 32, WIDTH * sizeof(float)>>>(sums, WIDTH);
    CHECK(host(sums, WIDTH)[WIDTH - 1] == 4.0f * (WIDTH - 1));
    auto *function = dynamic;
    cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
    function<<<1, 32, 64 * 1024>>>(sums, WIDTH);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    unsigned *clusters = dev(4, 0u);
    ranks<2><<<4, 64>>>(clusters);
    CHECK(host(clusters, 4)[2] == 24 && host(clusters, 4)[3] == 124);
    const int two = 2;
    CHECK(cudaMemcpyToSymbol(factors, &two, sizeof(two)) == cudaSuccess);
    LAUNCH(warps, 64, to);
    CHECK(host(to, 2)[1] == 496 + 16 * 2 + 3 + 6 && counter == 64);
    float milliseconds = -1;
    cudaEvent_t begin, end;
    cudaDeviceProp properties;
    cudaEventCreate(&begin), cudaEventCreate(&end), cudaEventRecord(begin), cudaEventRecord(end);
    cudaEventSynchronize(end), cudaEventElapsedTime(&milliseconds, begin, end);
    cudaGetDeviceProperties(&properties, 0);
    CHECK(properties.warpSize == 32 && properties.sharedMemPerMultiprocessor > 200 * 1024);
    lanes<<<1, 32>>>(to);
    CHECK(host(to, 32)[5] == 5);
    RETURN(std::getenv("EMULATOR_POLICY") != nullptr && '\'' == 39 && milliseconds >= 0);
}
#endif
