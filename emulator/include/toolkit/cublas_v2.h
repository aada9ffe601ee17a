// cuBLAS for programs that only include it: there is none here, and every call says so.
#pragma once

#include <cuda_runtime.h>

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1 };
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cublasHandle_t = struct cublasContext *;

// The version of the headers.
inline size_t cublasGetCudartVersion() { return CUDART_VERSION; }

// The name of a status, and words for it.
inline const char *cublasGetStatusName(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS"
                                           : "CUBLAS_STATUS_NOT_SUPPORTED";
}
inline const char *cublasGetStatusString(cublasStatus_t status) {
    return cublasGetStatusName(status);
}

// Print their names.
#define EMULATOR_MISSING(name)                                                                     \
    template <typename... Arguments>                                                               \
    cublasStatus_t name(Arguments &&...) {                                                         \
        fprintf(stderr, "%s: the emulator has no cuBLAS\n", #name);                                \
        return CUBLAS_STATUS_NOT_SUPPORTED;                                                        \
    }
EMULATOR_MISSING(cublasCreate)
EMULATOR_MISSING(cublasDestroy)
EMULATOR_MISSING(cublasSetMathMode)
EMULATOR_MISSING(cublasSetStream)
EMULATOR_MISSING(cublasSgemm)
EMULATOR_MISSING(cublasHgemm)
EMULATOR_MISSING(cublasGemmEx)
EMULATOR_MISSING(cublasGemmStridedBatchedEx)
#undef EMULATOR_MISSING
