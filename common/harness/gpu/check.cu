#include "harness/check.h"

#include <string.h>

#include "harness/cuda_failed.h"
#include "harness/digest.h"

namespace {

constexpr int THREADS = 256;
constexpr size_t MOST_BLOCKS = 4096;
constexpr int WARP = 32;
constexpr unsigned int FULL_WARP = 0xffffffffu;
constexpr unsigned long long NONE = ~0ull;

/* What all threads found together. Indices are those of the reference for wrong elements and of
 * the output for those that are not finite. */
struct Findings {
    unsigned long long wrong;
    unsigned long long first_wrong;
    unsigned long long not_finite;
    unsigned long long first_not_finite;
    unsigned long long max_ratio; /* the bits of a double; for those >= 0 they order alike */
};

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

/* Adds a count and the lowest index of a warp's threads to the common ones. ~max(~x) is min(x). */
__device__ void add_count(unsigned long long count, unsigned long long first,
                          unsigned long long *total, unsigned long long *total_first) {
    count = warp_sum(count);
    first = ~warp_max(~first);
    if (threadIdx.x % WARP == 0 && count > 0) {
        atomicAdd(total, count);
        atomicMin(total_first, first);
    }
}

__global__ void __launch_bounds__(THREADS)
    compare_elements(const void *d, reference reference, enum check_kind kind, rounding rounding,
                     Findings *findings) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    unsigned long long wrong = 0;
    unsigned long long first = NONE;
    double max_ratio = 0;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < reference.count; i += stride) {
        const size_t position = reference.positions == nullptr ? i : reference.positions[i];
        const expected expected = reference_element(&reference, i);
        const comparison result =
            compare(kind, &rounding, number_read(rounding.output, d, position), &expected);
        max_ratio = fmax(max_ratio, result.error_over_bound);
        if (!result.right) {
            ++wrong;
            first = first == NONE ? i : first;
        }
    }
    add_count(wrong, first, &findings->wrong, &findings->first_wrong);
    const unsigned long long ratio_bits =
        warp_max((unsigned long long)__double_as_longlong(max_ratio));
    if (threadIdx.x % WARP == 0) {
        atomicMax(&findings->max_ratio, ratio_bits);
    }
}

__global__ void __launch_bounds__(THREADS)
    find_not_finite(const void *d, enum number format, size_t count, Findings *findings) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    unsigned long long found = 0;
    unsigned long long first = NONE;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        if (!number_is_finite(number_read(format, d, i))) {
            ++found;
            first = first == NONE ? i : first;
        }
    }
    add_count(found, first, &findings->not_finite, &findings->first_not_finite);
}

/* Of a reference with words; nothing of it is sampled. */
__global__ void __launch_bounds__(THREADS)
    compare_words(const uint32_t *d, reference reference, Findings *findings) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    unsigned long long wrong = 0;
    unsigned long long first = NONE;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < reference.count; i += stride) {
        if (d[i] != reference.words[i]) {
            ++wrong;
            first = first == NONE ? i : first;
        }
    }
    add_count(wrong, first, &findings->wrong, &findings->first_wrong);
}

__global__ void __launch_bounds__(THREADS)
    add_digests(const void *d, enum number format, size_t count, unsigned long long *digest) {
    const size_t stride = (size_t)gridDim.x * THREADS;
    unsigned long long sum = 0;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        sum += digest_element(format, d, i);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) {
        atomicAdd(digest, sum);
    }
}

unsigned int blocks_for(size_t count) {
    const size_t needed = (count + THREADS - 1) / THREADS;
    return (unsigned int)(needed < MOST_BLOCKS ? needed : MOST_BLOCKS);
}

bool run_kernels(const void *d, const reference *reference, enum check_kind kind,
                 const rounding *rounding, cudaStream_t stream, Findings *on_gpu) {
    if (kind == CHECK_WORDS) {
        compare_words<<<blocks_for(reference->count), THREADS, 0, stream>>>((const uint32_t *)d,
                                                                            *reference, on_gpu);
        return !cuda_failed(cudaGetLastError(), "launching the comparison of %zu words",
                            reference->count);
    }
    const size_t elements = reference->rows * reference->columns;
    compare_elements<<<blocks_for(reference->count), THREADS, 0, stream>>>(d, *reference, kind,
                                                                           *rounding, on_gpu);
    if (cuda_failed(cudaGetLastError(), "launching the comparison of %zu elements",
                    reference->count)) {
        return false;
    }
    find_not_finite<<<blocks_for(elements), THREADS, 0, stream>>>(d, rounding->output, elements,
                                                                  on_gpu);
    return !cuda_failed(cudaGetLastError(), "launching the search for NaN in %zu elements",
                        elements);
}

bool run_digest(const void *d, enum number format, size_t count, cudaStream_t stream,
                unsigned long long *on_gpu) {
    add_digests<<<blocks_for(count), THREADS, 0, stream>>>(d, format, count, on_gpu);
    return !cuda_failed(cudaGetLastError(), "launching the digest of %zu elements", count);
}

bool read_element(void *to, const void *from, size_t bytes) {
    return !cuda_failed(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
                        "reading one element of a check");
}

/* Fetches what is said about the first wrong word. */
bool describe_wrong_word(const void *d, const reference *reference, size_t index,
                         verdict *verdict) {
    uint32_t got = 0;
    uint32_t expected = 0;
    if (!read_element(&got, (const uint32_t *)d + index, sizeof got) ||
        !read_element(&expected, reference->words + index, sizeof expected)) {
        return false;
    }
    verdict->first_row = index / reference->columns;
    verdict->first_column = index % reference->columns;
    verdict->got = (double)got;
    verdict->expected = (double)expected;
    return true;
}

/* Fetches what is said about the first wrong element. */
bool describe_wrong(const void *d, const reference *reference, enum check_kind kind,
                    const rounding *rounding, size_t index, verdict *verdict) {
    if (kind == CHECK_WORDS) {
        return describe_wrong_word(d, reference, index, verdict);
    }
    const size_t bytes = number_bytes(rounding->output);
    uint64_t position = index;
    uint32_t output = 0; /* the bits of a number of any format */
    expected expected = {};
    if ((reference->positions != nullptr &&
         !read_element(&position, reference->positions + index, sizeof position)) ||
        !read_element(&output, (const unsigned char *)d + position * bytes, bytes) ||
        !read_element(&expected.value, reference->values + index, sizeof expected.value) ||
        !read_element(&expected.magnitude, reference->magnitudes + index,
                      sizeof expected.magnitude) ||
        (reference->partials != nullptr &&
         !read_element(&expected.partials, reference->partials + index,
                       sizeof expected.partials))) {
        return false;
    }
    verdict->first_row = position / reference->columns;
    verdict->first_column = position % reference->columns;
    verdict->got = (double)number_read(rounding->output, &output, 0);
    verdict->expected = kind == CHECK_EXACT
                            ? (double)number_round(rounding->output, (float)expected.value)
                            : expected.value;
    verdict->allowed = kind == CHECK_EXACT ? 0 : error_bound(rounding, &expected);
    return true;
}

bool fill_verdict(const void *d, const reference *reference, enum check_kind kind,
                  const rounding *rounding, const Findings &findings, verdict *verdict) {
    verdict->kind = kind;
    verdict->checked = reference->count;
    verdict->wrong = findings.wrong;
    verdict->not_finite = findings.not_finite;
    memcpy(&verdict->max_error_over_bound, &findings.max_ratio, sizeof(double));
    if (findings.not_finite > 0) {
        verdict->not_finite_row = findings.first_not_finite / reference->columns;
        verdict->not_finite_column = findings.first_not_finite % reference->columns;
    }
    return findings.wrong == 0 ||
           describe_wrong(d, reference, kind, rounding, (size_t)findings.first_wrong, verdict);
}

} // namespace

int check_output(const void *d, const reference *reference, enum check_kind kind,
                 const rounding *rounding, struct CUstream_st *stream, verdict *verdict) {
    memset(verdict, 0, sizeof *verdict);
    Findings findings = {0, NONE, 0, NONE, 0};
    Findings *on_gpu = nullptr;
    if (cuda_failed(cudaMalloc((void **)&on_gpu, sizeof *on_gpu),
                    "allocating %zu bytes of GPU memory for a check", sizeof *on_gpu)) {
        return 1;
    }
    const bool ok = !cuda_failed(cudaMemcpyAsync(on_gpu, &findings, sizeof findings,
                                                 cudaMemcpyHostToDevice, stream),
                                 "copying a check's start values to the GPU") &&
                    run_kernels(d, reference, kind, rounding, stream, on_gpu) &&
                    !cuda_failed(cudaMemcpyAsync(&findings, on_gpu, sizeof findings,
                                                 cudaMemcpyDeviceToHost, stream),
                                 "copying a check's findings from the GPU") &&
                    !cuda_failed(cudaStreamSynchronize(stream), "checking the output") &&
                    fill_verdict(d, reference, kind, rounding, findings, verdict);
    (void)cudaFree(on_gpu); /* a fault has been reported by now */
    return ok ? 0 : 1;
}

int output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream,
                  uint64_t *digest) {
    unsigned long long sum = 0;
    unsigned long long *on_gpu = nullptr;
    if (cuda_failed(cudaMalloc((void **)&on_gpu, sizeof *on_gpu),
                    "allocating %zu bytes of GPU memory for a digest", sizeof *on_gpu)) {
        return 1;
    }
    const bool ok =
        !cuda_failed(cudaMemsetAsync(on_gpu, 0, sizeof *on_gpu, stream), "clearing a digest") &&
        run_digest(d, format, count, stream, on_gpu) &&
        !cuda_failed(cudaMemcpyAsync(&sum, on_gpu, sizeof sum, cudaMemcpyDeviceToHost, stream),
                     "copying a digest from the GPU") &&
        !cuda_failed(cudaStreamSynchronize(stream), "taking the digest of the output");
    (void)cudaFree(on_gpu); /* a fault has been reported by now */
    *digest = sum;
    return ok ? 0 : 1;
}
