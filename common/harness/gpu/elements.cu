// The operations on single elements.
#include "harness/elements.h"

#include "harness/message.h"

namespace {

constexpr int THREADS = 256;
constexpr size_t MOST_CHECK_BLOCKS = 4096;
constexpr size_t MOST_FILL_BLOCKS = 65536;
constexpr int WARP = 32;
constexpr unsigned int FULL_WARP = 0xffffffffu;

template <typename NUMBER>
__device__ NUMBER warp_sum(NUMBER value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value += __shfl_down_sync(FULL_WARP, value, distance);
    }
    return value;
}

__device__ unsigned long long warp_max(unsigned long long value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        value = max(value, __shfl_down_sync(FULL_WARP, value, distance));
    }
    return value;
}

/* Adds the findings of a warp's threads to the total. ~max(~x) is min(x); the bits of a double that
 * is not negative order as it does. */
__device__ void add(const findings &mine, findings *total) {
    const unsigned long long wrong = warp_sum(mine.wrong);
    const unsigned long long first = ~warp_max(~mine.first);
    const unsigned long long digest = warp_sum(mine.digest);
    const unsigned long long ratio =
        warp_max((unsigned long long)__double_as_longlong(mine.max_ratio));
    const double errors = warp_sum(mine.errors);
    const double values = warp_sum(mine.values);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(&total->wrong, wrong);
        atomicMin(&total->first, first);
        atomicAdd(&total->digest, digest);
        atomicMax((unsigned long long *)&total->max_ratio, ratio);
        atomicAdd(&total->errors, errors);
        atomicAdd(&total->values, values);
    }
}

__global__ void __launch_bounds__(THREADS) check(examination examination, findings *total) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    findings mine = NOTHING_FOUND;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < examination.reference.count;
         i += stride) {
        check_element(&examination, i, &mine);
    }
    add(mine, total);
}

__global__ void fill(void *to, enum number format, size_t count, recipe recipe) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        operand_write(to, format, &recipe, i);
    }
}

/* Four words a thread, without TMA and shared memory: rows are whole 16 bytes. */
__global__ void __launch_bounds__(THREADS) add_one_plainly(uint4 *d, const uint4 *a, size_t count) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) {
        const uint4 words = a[i];
        d[i] = make_uint4(words.x + 1, words.y + 1, words.z + 1, words.w + 1);
    }
}

unsigned int blocks_for(size_t count, size_t most) {
    const size_t needed = (count + THREADS - 1) / THREADS;
    return (unsigned int)(needed < most ? needed : most);
}

} // namespace

void operands_fill(void *to, enum number format, size_t count, const recipe *recipe,
                   struct CUstream_st *stream) {
    fill<<<blocks_for(count, MOST_FILL_BLOCKS), THREADS, 0, stream>>>(to, format, count, *recipe);
    cuda_check(cudaGetLastError(), "launching the kernel that makes %zu operands", count);
}

findings check_elements(const examination *examination, struct CUstream_st *stream) {
    const size_t count = examination->reference.count;
    findings found = NOTHING_FOUND;
    findings *on_gpu = nullptr;
    cuda_check(cudaMalloc((void **)&on_gpu, sizeof *on_gpu),
               "allocating %zu bytes of GPU memory for a check", sizeof *on_gpu);
    cuda_check(cudaMemcpyAsync(on_gpu, &found, sizeof found, cudaMemcpyHostToDevice, stream),
               "copying a check's start values to the GPU");
    check<<<blocks_for(count, MOST_CHECK_BLOCKS), THREADS, 0, stream>>>(*examination, on_gpu);
    cuda_check(cudaGetLastError(), "launching a check of %zu elements", count);
    cuda_check(cudaMemcpyAsync(&found, on_gpu, sizeof found, cudaMemcpyDeviceToHost, stream),
               "copying a check's findings from the GPU");
    cuda_check(cudaStreamSynchronize(stream), "checking the output");
    (void)cudaFree(on_gpu);
    return found;
}

void elements_add_one(const problem *problem) {
    const size_t count = (size_t)problem->m * (size_t)problem->n / 4;
    const size_t blocks = (count + THREADS - 1) / THREADS;
    add_one_plainly<<<(unsigned int)blocks, THREADS, 0, problem->stream>>>(
        (uint4 *)problem->d, (const uint4 *)problem->a, count);
    cuda_check(cudaGetLastError(), "launching a plain kernel that adds 1 to %zu vectors of words",
               count);
}
