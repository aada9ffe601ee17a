#include "harness/gpu/addmm.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "harness/cuda_failed.h"
#include "harness/message.h"

/* What cuBLAS's documentation recommends for Hopper. */
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;

struct addmm {
    struct CUstream_st *stream;
    void *workspace;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d; /* C has D's */
    cublasLtMatmulAlgo_t algorithm;
    int m, n, k; /* that the layouts and the algorithm are for; 0: for none yet */
};

addmm *addmm_open(struct CUstream_st *stream) {
    addmm *addmm = calloc(1, sizeof *addmm);
    if (addmm == NULL) {
        message("no memory to start cuBLASLt");
        return NULL;
    }
    addmm->stream = stream;
    if (cuda_failed(cudaMalloc(&addmm->workspace, WORKSPACE_BYTES),
                    "allocating %zu bytes for cuBLASLt", WORKSPACE_BYTES)) {
        free(addmm);
        return NULL;
    }
    const cublasStatus_t status = cublasLtCreate(&addmm->handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("starting cuBLASLt failed: %s", cublasGetStatusString(status));
        addmm_close(addmm);
        return NULL;
    }
    return addmm;
}

/* After a fault every call repeats the error that was reported already. */
static void forget_shape(addmm *addmm) {
    cublasLtMatrixLayout_t *const layouts[] = {&addmm->a, &addmm->b, &addmm->d};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
        if (*layouts[i] != NULL) {
            (void)cublasLtMatrixLayoutDestroy(*layouts[i]);
            *layouts[i] = NULL;
        }
    }
    if (addmm->operation != NULL) {
        (void)cublasLtMatmulDescDestroy(addmm->operation);
        addmm->operation = NULL;
    }
    addmm->m = 0;
}

void addmm_close(addmm *addmm) {
    if (addmm != NULL) {
        forget_shape(addmm);
        if (addmm->handle != NULL) {
            (void)cublasLtDestroy(addmm->handle);
        }
        (void)cudaFree(addmm->workspace);
        free(addmm);
    }
}

/* Columns first, as in cublas.c: D^T = B * A^T. */
static cublasStatus_t describe(addmm *addmm, const problem *problem) {
    const uint64_t m = (uint64_t)problem->m;
    const uint64_t n = (uint64_t)problem->n;
    const uint64_t k = (uint64_t)problem->k;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasStatus_t status =
        cublasLtMatmulDescCreate(&addmm->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulDescSetAttribute(addmm->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                &transposed, sizeof transposed);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&addmm->b, CUDA_R_16F, k, n, (int64_t)k);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&addmm->a, CUDA_R_16F, k, m, (int64_t)k);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&addmm->d, CUDA_R_32F, n, m, (int64_t)n);
    }
    return status;
}

static cublasStatus_t choose_algorithm(addmm *addmm) {
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    status =
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulAlgoGetHeuristic(addmm->handle, addmm->operation, addmm->b, addmm->a,
                                                addmm->d, addmm->d, preference, 1, &result, &found);
    }
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (status == CUBLAS_STATUS_SUCCESS && found == 0) {
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        addmm->algorithm = result.algo;
    }
    return status;
}

static cublasStatus_t take_shape(addmm *addmm, const problem *problem) {
    if (addmm->m == problem->m && addmm->n == problem->n && addmm->k == problem->k) {
        return CUBLAS_STATUS_SUCCESS;
    }
    forget_shape(addmm);
    cublasStatus_t status = describe(addmm, problem);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = choose_algorithm(addmm);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        addmm->m = problem->m;
        addmm->n = problem->n;
        addmm->k = problem->k;
    }
    return status;
}

cublasStatus_t addmm_launch(addmm *addmm, const problem *problem) {
    const cublasStatus_t status = take_shape(addmm, problem);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    return cublasLtMatmul(addmm->handle, addmm->operation, &problem->alpha, problem->b, addmm->b,
                          problem->a, addmm->a, &problem->beta, problem->c, addmm->d, problem->d,
                          addmm->d, &addmm->algorithm, addmm->workspace, WORKSPACE_BYTES,
                          addmm->stream);
}
