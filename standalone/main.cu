// Operands are -1, 0 and 1, so that every sum is exact: D must be a plain kernel's bit for bit.
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

enum Type { BF16, FP16, E4M3, FP32, INT32 };
constexpr size_t BYTES[] = {2, 2, 1, 4, 4};
constexpr Type IN[] = {INT32, BF16, FP16, FP16, INT32, INT32, E4M3}; // by the computation's number
constexpr Type OUT[] = {INT32, BF16, FP16, FP32, INT32, INT32, BF16};
constexpr int CTA_SIZE = 256, LAUNCHES = 10;

static void must(cudaError_t status, const char *doing) {
    if (status != cudaSuccess) {
        const bool no_gpu = status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver;
        fprintf(stderr, "%s: %s\n", doing, cudaGetErrorString(status));
        exit(no_gpu ? 77 : status == cudaErrorMemoryAllocation ? 2 : 1);
    }
}

static __device__ int value_of(size_t i, unsigned seed) {
    const unsigned bits = ((unsigned(i) + 1) * seed ^ unsigned(i >> 7)) * 0x9e3779b9;
    return seed == 0 ? 1 : int((bits >> 8) % 3) - 1;
}

// 0x38 is 1 in e4m3: PTX ISA, Alternate Floating-Point Data Formats.
static __device__ void put(void *matrix, Type type, size_t i, int value) {
    if (type == E4M3)
        static_cast<unsigned char *>(matrix)[i] = value == 0 ? 0 : value < 0 ? 0xb8 : 0x38;
    else if (type == BF16)
        static_cast<__nv_bfloat16 *>(matrix)[i] = float(value);
    else if (type == FP16)
        static_cast<__half *>(matrix)[i] = float(value);
    else
        static_cast<int *>(matrix)[i] = type == FP32 ? __float_as_int(float(value)) : value;
}

static __global__ void fill(void *matrix, Type type, size_t count, unsigned seed) {
    const size_t i = size_t(blockIdx.x) * CTA_SIZE + threadIdx.x;
    if (i < count)
        put(matrix, type, i, value_of(i, seed));
}

// D, as plainly as it can be said: each thread computes one element.
static __global__ void reference(problem p, computation computes, Type type) {
    const size_t i = size_t(blockIdx.x) * CTA_SIZE + threadIdx.x, m = i / p.n, n = i % p.n;
    int sum = computes == ADDMM_FP16 ? int(p.beta) * value_of(i, 5) : 0;
    for (int k = 0; k < p.k; ++k)
        sum += int(p.alpha) * value_of(m * p.k + k, 1) * value_of(n * p.k + k, 3);
    if (computes == TRANSPOSE_FP32) // D[n][m]: the i-th element is that of row i % m of A
        sum = value_of(i % p.m * p.n + i / p.m, 1);
    else if (computes == ADD_ONE_INT32)
        sum = value_of(i, 1) + 1;
    if (i < size_t(p.m) * p.n)
        put(p.d, type, i, sum);
}

static void *matrix_of(Type type, int rows, int columns, unsigned seed) {
    const size_t count = size_t(rows) * columns;
    void *matrix = nullptr;
    must(cudaMalloc(&matrix, count * BYTES[type]), "allocating device memory");
    fill<<<unsigned(count / CTA_SIZE + 1), CTA_SIZE>>>(matrix, type, count, seed);
    return matrix;
}

int step_main(const step *rung, int argc, char **argv) {
    const computation computes = rung->computes;
    const bool moves = IN[computes] == INT32;
    const int multiples[] = {rung->multiple.m, rung->multiple.n, moves ? 1 : rung->multiple.k};
    int sizes[] = {4096, 2048, moves ? 0 : 1024};
    for (int i = 0; i < 3; ++i) {
        sizes[i] = i + 1 < argc ? atoi(argv[i + 1]) : sizes[i] / multiples[i] * multiples[i];
        if (sizes[i] < (i < 2 || !moves) || sizes[i] > 1 << 17 || sizes[i] % multiples[i] != 0)
            return fprintf(stderr, "usage: [M N K], multiples of %d\n", multiples[i]), 2;
    }
    problem p = {.beta = 3, .m = sizes[0], .n = sizes[1], .k = sizes[2]};
    p.alpha = computes == ADDMM_FP16 ? 2 : 1;
    p.a = matrix_of(IN[computes], p.m, moves ? p.n : p.k, 1);
    p.b = matrix_of(IN[computes], p.n, p.k, 3);
    p.c = matrix_of(FP32, p.m, p.n, 5);
    p.scale_a = static_cast<float *>(matrix_of(FP32, p.m, p.k / SCALE_BLOCK + 4, 0));
    p.scale_b = static_cast<float *>(matrix_of(FP32, p.n, p.k / SCALE_BLOCK + 4, 0));
    p.d = matrix_of(OUT[computes], p.m, p.n, 5);
    const size_t count = size_t(p.m) * p.n;
    std::vector<char> expected(count * BYTES[OUT[computes]]), d = expected;
    reference<<<unsigned(count / CTA_SIZE + 1), CTA_SIZE>>>(p, computes, OUT[computes]);
    must(cudaMemcpy(&expected[0], p.d, d.size(), cudaMemcpyDeviceToHost),
         "computing the reference");

    void *state = nullptr;
    cudaEvent_t begin, end;
    float ms = 0;
    for (cudaEvent_t *event : {&begin, &end})
        must(cudaEventCreate(event), "making an event");
    int status = rung->prepare(&p, &state);
    for (int launches = 1; launches <= LAUNCHES && status == 0; launches += LAUNCHES - 1) {
        must(cudaMemset(p.d, 0xff, d.size()), "clearing D");
        must(cudaEventRecord(begin), "recording an event");
        for (int i = 0; i < launches && status == 0; ++i)
            status = rung->launch(&p, state);
        must(cudaEventRecord(end), "recording an event");
        must(cudaMemcpy(&d[0], p.d, d.size(), cudaMemcpyDeviceToHost), "running the kernel");
        must(cudaEventElapsedTime(&ms, begin, end), "reading the time");
        if (status == 0 && d != expected)
            status = fprintf(stderr, "%s is wrong\n", rung->name) > 0;
    }
    rung->release(state);
    const double rate = (moves ? 8e-6 * count : 2e-9 * count * p.k) / ms * LAUNCHES;
    if (status == 0)
        printf("%s: %d x %d x %d verified, %.4f ms, %.1f %s\n", rung->name, p.m, p.n, p.k,
               ms / LAUNCHES, rate, moves ? "GB/s" : "TFLOPS");
    return status != 0;
}
