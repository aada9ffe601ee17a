#include "harness/check.h"

#include "harness/cuda_failed.h"

namespace {

constexpr int THREADS = 256;
constexpr size_t MOST_BLOCKS = 4096;
constexpr int WARP = 32;
constexpr unsigned int FULL_WARP = 0xffffffffu;

__device__ unsigned long long warp_sum(unsigned long long value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_down_sync(FULL_WARP, value, distance);
    }
    return value;
}

__device__ unsigned long long warp_max(unsigned long long value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        const unsigned long long other = __shfl_down_sync(FULL_WARP, value, distance);
        value = other > value ? other : value;
    }
    return value;
}

/* Adds what the threads of a warp have found to what all have. ~max(~x) is min(x); the bits of a
 * double that is not negative order as it does. */
__device__ void add(const findings &mine, findings *total) {
    const unsigned long long count = warp_sum(mine.count);
    const unsigned long long first = ~warp_max(~mine.first);
    const unsigned long long digest = warp_sum(mine.digest);
    const unsigned long long ratio =
        warp_max((unsigned long long)__double_as_longlong(mine.max_ratio));
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&total->count, count);
        atomicMin(&total->first, first);
        atomicAdd(&total->digest, digest);
        atomicMax((unsigned long long *)&total->max_ratio, ratio);
    }
}

__global__ void __launch_bounds__(THREADS)
    check(examination examination, enum check_pass pass, size_t count, findings *total) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    findings mine = NOTHING_FOUND;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        check_element(&examination, pass, i, &mine);
    }
    add(mine, total);
}

} // namespace

int check_elements(const examination *examination, enum check_pass pass, size_t count,
                   struct CUstream_st *stream, findings *found) {
    const size_t needed = (count + THREADS - 1) / THREADS;
    const unsigned int blocks = (unsigned int)(needed < MOST_BLOCKS ? needed : MOST_BLOCKS);
    findings *on_gpu = nullptr;
    *found = NOTHING_FOUND;
    if (cuda_failed(cudaMalloc((void **)&on_gpu, sizeof *on_gpu),
                    "allocating %zu bytes of GPU memory for a check", sizeof *on_gpu)) {
        return 1;
    }
    int failed =
        cuda_failed(cudaMemcpyAsync(on_gpu, found, sizeof *found, cudaMemcpyHostToDevice, stream),
                    "copying a check's start values to the GPU");
    if (!failed) {
        check<<<blocks, THREADS, 0, stream>>>(*examination, pass, count, on_gpu);
        failed = cuda_failed(cudaGetLastError(), "launching a check of %zu elements", count) ||
                 cuda_failed(
                     cudaMemcpyAsync(found, on_gpu, sizeof *found, cudaMemcpyDeviceToHost, stream),
                     "copying a check's findings from the GPU") ||
                 cuda_failed(cudaStreamSynchronize(stream), "checking the output");
    }
    (void)cudaFree(on_gpu); /* a fault has been reported by now */
    return failed;
}
