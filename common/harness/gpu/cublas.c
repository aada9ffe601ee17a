/* The second opinion: cuBLAS where it has the computation. */
#include "harness/gpu/cublas.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/elements.h"
#include "harness/message.h"

struct second_opinion {
    enum computation computes;
    int contender;
    cublasHandle_t handle;
    lt_matmul *matmul; /* of ADDMM_FP16, GEMM_FP8 and CONTENDER_HEURISTIC */
};

/* cuBLAS may split k over several blocks. By default it may then round the partial sums to 16 bits
 * before it adds them, which is not the product that the rungs compute. */
static const cublasMath_t MATH_MODE =
    (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

second_opinion *second_opinion_open(const step *step, int contender, struct CUstream_st *stream) {
    const enum computation computes = step->computes;
    second_opinion *cublas = allocate(1, sizeof *cublas);
    cublas->computes = computes;
    cublas->contender = contender;
    cublas_check(cublasCreate(&cublas->handle), "starting cuBLAS");
    cublas_check(cublasSetStream(cublas->handle, stream), "giving cuBLAS its stream");
    cublas_check(cublasSetMathMode(cublas->handle, MATH_MODE), "setting cuBLAS's math mode");
    if (computes == ADDMM_FP16 || computes == GEMM_FP8 || contender == CONTENDER_HEURISTIC) {
        /* The best one is to add up as the step does. */
        const bool fast = contender == CONTENDER_NARROW_SUMS ||
                          (contender == CONTENDER_HEURISTIC && step->promotion == 0);
        cublas->matmul = lt_matmul_open(step, fast, stream);
    }
    return cublas;
}

bool second_opinion_takes(second_opinion *cublas, const problem *problem) {
    return cublas->computes != GEMM_FP8 || lt_matmul_takes(cublas->matmul, problem);
}

lt_matmul *cublas_matmul(const second_opinion *cublas) { return cublas->matmul; }

void second_opinion_close(second_opinion *cublas) {
    if (cublas != NULL) {
        lt_matmul_close(cublas->matmul);
        (void)cublasDestroy(cublas->handle);
        free(cublas);
    }
}

/* cuBLAS is column-major. Read that way, row-major D [m][n] is an n x m matrix D^T = B * A^T:
 * row-major B [n][k] is the k x n matrix B^T, to be transposed; A [m][k] is A^T without a
 * transpose. */
static cublasStatus_t gemm(const second_opinion *cublas, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const uint16_t half_one = 0x3c00; /* fp16 sums have fp16 factors */
    const uint16_t half_zero = 0;
    const cudaDataType_t type = cublas->computes == GEMM_BF16 ? CUDA_R_16BF : CUDA_R_16F;
    const bool half = cublas->contender == CONTENDER_NARROW_SUMS;
    const int n = problem->n;
    const int k = problem->k;
    return cublasGemmEx(cublas->handle, CUBLAS_OP_T, CUBLAS_OP_N, n, problem->m, k,
                        half ? (const void *)&half_one : &one, problem->b, type, k, problem->a,
                        type, k, half ? (const void *)&half_zero : &zero, problem->d, type, n,
                        half ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

/* D = beta * C. cuBLASLt multiplies A and B even if alpha is 0, and NaN times 0 is NaN. */
static cublasStatus_t scale_c(const second_opinion *cublas, const problem *problem) {
    const float zero = 0.0f;
    const int n = problem->n;
    if (problem->beta == 0) { /* and C must not be read either */
        const size_t bytes = (size_t)problem->m * (size_t)n * sizeof(float);
        return cudaMemsetAsync(problem->d, 0, bytes, problem->stream) == cudaSuccess
                   ? CUBLAS_STATUS_SUCCESS
                   : CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return cublasSgeam(cublas->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, problem->m, &problem->beta,
                       problem->c, n, &zero, problem->c, n, problem->d, n);
}

/* Columns first, A is an n x m matrix and D the m x n one that is its transpose; nothing is added
 * to it. With 64-bit dimensions, since their product may need them. */
static cublasStatus_t transpose(const second_opinion *cublas, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const int64_t m = problem->m;
    const int64_t n = problem->n;
    return cublasSgeam_64(cublas->handle, CUBLAS_OP_T, CUBLAS_OP_T, m, n, &one, problem->a, n,
                          &zero, problem->a, n, problem->d, m);
}

static cublasStatus_t compute(const second_opinion *cublas, const problem *problem) {
    if (cublas->matmul == NULL) {
        return (cublas->computes == TRANSPOSE_FP32 ? transpose : gemm)(cublas, problem);
    }
    return cublas->computes == ADDMM_FP16 && problem->alpha == 0
               ? scale_c(cublas, problem)
               : lt_matmul_launch(cublas->matmul, problem);
}

void second_opinion_launch(second_opinion *cublas, const problem *problem) {
    if (cublas->contender == CONTENDER_COPY) {
        const size_t bytes = (size_t)problem->m * (size_t)problem->n * sizeof(uint32_t);
        cuda_check(cudaMemcpyAsync(problem->d, problem->a, bytes, cudaMemcpyDeviceToDevice,
                                   problem->stream),
                   "starting the copy of %zu bytes on the GPU", bytes);
    } else if (cublas->computes == ADD_ONE_INT32) {
        elements_add_one(problem);
    } else {
        cublas_check(compute(cublas, problem), "running cuBLAS");
    }
}
