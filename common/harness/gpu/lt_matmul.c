#include "harness/gpu/lt_matmul.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/kernel_names.h"
#include "harness/message.h"

/* What cuBLAS's documentation recommends for Hopper. */
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;

struct lt_matmul {
    enum computation computes;
    struct CUstream_st *stream;
    void *workspace;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d; /* C has D's */
    int m, n, k;                    /* that the layouts and the algorithms are for; 0: none yet */
    cublasLtMatmulHeuristicResult_t algorithms[MOST_HEURISTICS];
    int count;
    int chosen;
};

lt_matmul *lt_matmul_open(enum computation computes, struct CUstream_st *stream) {
    lt_matmul *matmul = calloc(1, sizeof *matmul);
    if (matmul == NULL) {
        message("no memory to start cuBLASLt");
        return NULL;
    }
    matmul->computes = computes;
    matmul->stream = stream;
    if (cuda_failed(cudaMalloc(&matmul->workspace, WORKSPACE_BYTES),
                    "allocating %zu bytes for cuBLASLt", WORKSPACE_BYTES)) {
        free(matmul);
        return NULL;
    }
    const cublasStatus_t status = cublasLtCreate(&matmul->handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("starting cuBLASLt failed: %s", cublasGetStatusString(status));
        lt_matmul_close(matmul);
        return NULL;
    }
    return matmul;
}

/* After a fault every call repeats the error that was reported already. */
static void forget_shape(lt_matmul *matmul) {
    cublasLtMatrixLayout_t *const layouts[] = {&matmul->a, &matmul->b, &matmul->d};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
        if (*layouts[i] != NULL) {
            (void)cublasLtMatrixLayoutDestroy(*layouts[i]);
            *layouts[i] = NULL;
        }
    }
    if (matmul->operation != NULL) {
        (void)cublasLtMatmulDescDestroy(matmul->operation);
        matmul->operation = NULL;
    }
    matmul->m = 0;
    matmul->count = 0;
}

void lt_matmul_close(lt_matmul *matmul) {
    if (matmul != NULL) {
        forget_shape(matmul);
        if (matmul->handle != NULL) {
            (void)cublasLtDestroy(matmul->handle);
        }
        (void)cudaFree(matmul->workspace);
        free(matmul);
    }
}

static cudaDataType_t operand_type(const lt_matmul *matmul) {
    return matmul->computes == GEMM_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static cudaDataType_t output_type(const lt_matmul *matmul) {
    return matmul->computes == ADDMM_FP16 ? CUDA_R_32F : operand_type(matmul);
}

/* Columns first, as in cublas.c: D^T = B * A^T. */
static cublasStatus_t describe(lt_matmul *matmul, const problem *problem) {
    const uint64_t m = (uint64_t)problem->m;
    const uint64_t n = (uint64_t)problem->n;
    const uint64_t k = (uint64_t)problem->k;
    const cudaDataType_t type = operand_type(matmul);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasStatus_t status =
        cublasLtMatmulDescCreate(&matmul->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulDescSetAttribute(matmul->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                &transposed, sizeof transposed);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&matmul->b, type, k, n, (int64_t)k);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&matmul->a, type, k, m, (int64_t)k);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&matmul->d, output_type(matmul), n, m, (int64_t)n);
    }
    return status;
}

/* Where k is split, partial sums are not to be rounded to the output's format before they are
 * added: the rungs do not do that either. */
static cublasStatus_t prefer(cublasLtMatmulPreference_t preference) {
    const uint32_t reductions =
        (uint32_t)CUBLASLT_REDUCTION_SCHEME_MASK & ~(uint32_t)CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    const cublasStatus_t status =
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES);
    return status != CUBLAS_STATUS_SUCCESS
               ? status
               : cublasLtMatmulPreferenceSetAttribute(preference,
                                                      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                      &reductions, sizeof reductions);
}

static cublasStatus_t ask(lt_matmul *matmul) {
    cublasLtMatmulPreference_t preference;
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    status = prefer(preference);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulAlgoGetHeuristic(
            matmul->handle, matmul->operation, matmul->b, matmul->a, matmul->d, matmul->d,
            preference, MOST_HEURISTICS, matmul->algorithms, &matmul->count);
    }
    (void)cublasLtMatmulPreferenceDestroy(preference);
    return status;
}

static cublasStatus_t take_shape(lt_matmul *matmul, const problem *problem) {
    if (matmul->m == problem->m && matmul->n == problem->n && matmul->k == problem->k) {
        return CUBLAS_STATUS_SUCCESS;
    }
    forget_shape(matmul);
    cublasStatus_t status = describe(matmul, problem);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = ask(matmul);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        matmul->m = problem->m;
        matmul->n = problem->n;
        matmul->k = problem->k;
    }
    return status;
}

cublasStatus_t lt_matmul_count(lt_matmul *matmul, const problem *problem, int *count) {
    const cublasStatus_t status = take_shape(matmul, problem);
    *count = matmul->count;
    return status;
}

void lt_matmul_choose(lt_matmul *matmul, int algorithm) { matmul->chosen = algorithm; }

cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const bool scaled = matmul->computes == ADDMM_FP16;
    const cublasStatus_t status = take_shape(matmul, problem);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    if (matmul->chosen >= matmul->count) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return cublasLtMatmul(
        matmul->handle, matmul->operation, scaled ? &problem->alpha : &one, problem->b, matmul->b,
        problem->a, matmul->a, scaled ? &problem->beta : &zero, scaled ? problem->c : problem->d,
        matmul->d, problem->d, matmul->d, &matmul->algorithms[matmul->chosen].algo,
        matmul->workspace, WORKSPACE_BYTES, matmul->stream);
}

typedef struct call {
    lt_matmul *matmul;
    const problem *problem;
} call;

static int enqueue(void *context) {
    const call *call = context;
    const cublasStatus_t status = lt_matmul_launch(call->matmul, call->problem);
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("asking cuBLASLt for its kernels failed: %s", cublasGetStatusString(status));
    }
    return status != CUBLAS_STATUS_SUCCESS;
}

int lt_matmul_describe(lt_matmul *matmul, const problem *problem, char *text, size_t size) {
    call call = {matmul, problem};
    return kernel_names(matmul->stream, enqueue, &call, text, size);
}
