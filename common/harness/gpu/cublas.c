#include "harness/second_opinion.h"

#include <cublas_v2.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/message.h"

const char second_opinion_name[] = "cuBLAS";

struct second_opinion {
    cublasHandle_t handle;
};

static bool failed(cublasStatus_t status, const char *what) {
    if (status == CUBLAS_STATUS_SUCCESS) {
        return false;
    }
    message("%s failed: %s: %s", what, cublasGetStatusName(status), cublasGetStatusString(status));
    return true;
}

/* cuBLAS may split k over several blocks. By default it may then round the partial sums to bf16
 * before it adds them, which is not the product that the rungs compute. */
static const cublasMath_t MATH_MODE =
    (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

second_opinion *second_opinion_open(struct CUstream_st *stream) {
    second_opinion *cublas = calloc(1, sizeof *cublas);
    if (cublas == NULL) {
        message("no memory to start cuBLAS");
        return NULL;
    }
    if (failed(cublasCreate(&cublas->handle), "starting cuBLAS")) {
        free(cublas);
        return NULL;
    }
    if (failed(cublasSetStream(cublas->handle, stream), "giving cuBLAS its stream") ||
        failed(cublasSetMathMode(cublas->handle, MATH_MODE), "setting cuBLAS's math mode")) {
        second_opinion_close(cublas);
        return NULL;
    }
    return cublas;
}

void second_opinion_close(second_opinion *cublas) {
    if (cublas != NULL) {
        /* After a fault every call repeats the error that was reported already. */
        (void)cublasDestroy(cublas->handle);
        free(cublas);
    }
}

/* cuBLAS counts in columns. Read that way, row-major D [m][n] is an n x m matrix D^T = B * A^T:
 * row-major B [n][k] is the k x n matrix B^T, to be transposed; A [m][k] is A^T as it stands. */
int second_opinion_launch(second_opinion *cublas, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const int m = problem->m;
    const int n = problem->n;
    const int k = problem->k;
    const cublasStatus_t status =
        cublasGemmEx(cublas->handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, problem->b,
                     CUDA_R_16BF, k, problem->a, CUDA_R_16BF, k, &zero, problem->d, CUDA_R_16BF, n,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("cuBLAS for m=%d n=%d k=%d failed: %s: %s", m, n, k, cublasGetStatusName(status),
                cublasGetStatusString(status));
        return 1;
    }
    return 0;
}
