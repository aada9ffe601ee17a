/* The second opinion: cuBLAS where it has the computation. */
#include "harness/gpu/cublas.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/buffers.h"
#include "harness/check.h"
#include "harness/message.h"

/* cuBLAS may split k over several blocks. By default it may then round the partial sums to 16 bits
 * before it adds them, which is not the product that the rungs compute. */
static const cublasMath_t MATH_MODE =
    (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

void cublas_check(cublasStatus_t status, const char *what) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        end_with(STATUS_FAILED, "%s failed: %s: %s", what, cublasGetStatusName(status),
                 cublasGetStatusString(status));
    }
}

second_opinion *second_opinion_open(const step *step, enum contender_role contender,
                                    const problem *problem) {
    second_opinion *opinion = allocate(1, sizeof *opinion);
    opinion->step = step;
    opinion->contender = contender;
    cublas_check(cublasCreate(&opinion->cublas), "starting cuBLAS");
    cublas_check(cublasSetStream(opinion->cublas, problem->stream), "giving cuBLAS its stream");
    cublas_check(cublasSetMathMode(opinion->cublas, MATH_MODE), "setting cuBLAS's math mode");
    if (step->computes == ADDMM_FP16 || step->computes == GEMM_FP8 ||
        contender == CONTENDER_FIRST || contender == CONTENDER_HEURISTIC) {
        lt_open(opinion, problem);
        if (opinion->count == 0) {
            second_opinion_close(opinion);
            return NULL;
        }
    }
    return opinion;
}

void second_opinion_close(second_opinion *opinion) {
    if (opinion != NULL) {
        (void)cudaFree(opinion->workspace);
        (void)cublasDestroy(opinion->cublas);
        free(opinion);
    }
}

/* cuBLAS is column-major. Read that way, row-major D [m][n] is an n x m matrix D^T = B * A^T:
 * row-major B [n][k] is the k x n matrix B^T, to be transposed; A [m][k] is A^T without a
 * transpose. */
static cublasStatus_t gemm(const second_opinion *opinion, const problem *problem) {
    static const float ONE = 1.0f, ZERO = 0.0f;
    static const uint16_t HALF_ONE = 0x3c00, HALF_ZERO = 0; /* fp16 sums have fp16 factors */
    const cudaDataType_t type = opinion->step->computes == GEMM_BF16 ? CUDA_R_16BF : CUDA_R_16F;
    const bool half = opinion->contender == CONTENDER_NARROW_SUMS;
    const int n = problem->n;
    const int k = problem->k;
    return cublasGemmEx(opinion->cublas, CUBLAS_OP_T, CUBLAS_OP_N, n, problem->m, k,
                        half ? (const void *)&HALF_ONE : &ONE, problem->b, type, k, problem->a,
                        type, k, half ? (const void *)&HALF_ZERO : &ZERO, problem->d, type, n,
                        half ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

/* D = factor * from, or from's transpose, and nothing added. Columns first, D has these rows and
 * columns; 64-bit ones, since their product may need them. What is multiplied by 0 is not read:
 * factor 0 makes zeros. (cuBLAS documentation: cublas<t>geam.) */
static cublasStatus_t scale(const second_opinion *opinion, cublasOperation_t operation,
                            float factor, const void *from, void *d, int64_t rows,
                            int64_t columns) {
    static const float ZERO = 0;
    const int64_t pitch = operation == CUBLAS_OP_T ? columns : rows;
    return cublasSgeam_64(opinion->cublas, operation, operation, rows, columns, &factor, from,
                          pitch, &ZERO, from, pitch, d, rows);
}

static cublasStatus_t compute(second_opinion *opinion, const problem *p) {
    if (opinion->step->computes == TRANSPOSE_FP32) {
        return scale(opinion, CUBLAS_OP_T, 1, p->a, p->d, p->m, p->n);
    }
    /* cuBLASLt multiplies A and B even if alpha is 0, and NaN times 0 is NaN. */
    if (opinion->step->computes == ADDMM_FP16 && p->alpha == 0) {
        return scale(opinion, CUBLAS_OP_N, p->beta, p->c, p->d, p->n, p->m);
    }
    return opinion->lt != NULL ? lt_launch(opinion, p) : gemm(opinion, p);
}

void second_opinion_launch(second_opinion *opinion, const problem *problem) {
    if (opinion->contender == CONTENDER_COPY) {
        const size_t bytes = (size_t)problem->m * (size_t)problem->n * sizeof(uint32_t);
        cuda_check(cudaMemcpyAsync(problem->d, problem->a, bytes, cudaMemcpyDeviceToDevice,
                                   problem->stream),
                   "starting the copy of %zu bytes on the GPU", bytes);
    } else if (opinion->step->computes == ADD_ONE_INT32) {
        elements_add_one(problem);
    } else {
        cublas_check(compute(opinion, problem), "running cuBLAS");
    }
}
