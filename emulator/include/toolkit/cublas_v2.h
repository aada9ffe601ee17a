// cuBLAS, as far as programs check themselves against it: a call is a launch on the handle's
// stream, computed by the CPU. Sums are fp64 and rounded once, whatever the compute type. (cuBLAS:
// Using the cuBLAS API.)
#pragma once
#define CUBLAS_API_H_ // for programs that ask whether it is included

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define EMULATOR_STATUSES(is)                                                                      \
    is(SUCCESS, 0) is(NOT_INITIALIZED, 1) is(ALLOC_FAILED, 3) is(INVALID_VALUE, 7)                 \
        is(ARCH_MISMATCH, 8) is(MAPPING_ERROR, 11) is(EXECUTION_FAILED, 13) is(INTERNAL_ERROR, 14) \
            is(NOT_SUPPORTED, 15) is(LICENSE_ERROR, 16)
#define EMULATOR_STATUS(name, value) CUBLAS_STATUS_##name = value,
enum cublasStatus_t { EMULATOR_STATUSES(EMULATOR_STATUS) };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
#define EMULATOR_DATA_TYPES(is) /* name, value, type */                                            \
    is(CUDA_R_32F, 0, float) is(CUDA_R_64F, 1, double) is(CUDA_R_16F, 2, __half)                   \
        is(CUDA_R_8I, 3, std::int8_t) is(CUDA_R_32I, 10, int) is(CUDA_R_16BF, 14, __nv_bfloat16)   \
            is(CUDA_R_8F_E4M3, 28, __nv_fp8_e4m3) is(CUDA_R_8F_E5M2, 29, __nv_fp8_e5m2)
enum cudaDataType_t { EMULATOR_DATA_TYPES(EMULATOR_ENUMERATOR) };
// clang-format off
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32I = 72, CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75, CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
// clang-format on
using cublasHandle_t = struct cublasContext { cudaStream_t stream; } *;

// "CUBLAS_STATUS_INVALID_VALUE". The version of the headers.
const char *cublasGetStatusName(cublasStatus_t status);
inline constexpr auto &cublasGetStatusString = cublasGetStatusName;
inline size_t cublasGetCudartVersion() { return CUDART_VERSION; }

// The end of a handle waits for the device. (cuBLAS: Helper Function Reference.)
inline constexpr auto cublasSetMathMode = [](cublasHandle_t, int) { return CUBLAS_STATUS_SUCCESS; };
inline cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    return *handle = new cublasContext{}, CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    return handle->stream = stream, CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    return cudaDeviceSynchronize(), delete handle, CUBLAS_STATUS_SUCCESS;
}

namespace emulator::blas {
// A matrix as it is stored: columns, which begin `leading` elements apart, and the matrices of a
// batch `stride`.
struct Matrix {
    const void *data;
    cudaDataType_t type;
    std::int64_t leading;
    cublasOperation_t op = CUBLAS_OP_N;
    std::int64_t stride = 0;
};
// Of cuBLASLt's product, matrix or preference: values of any type, by their attributes.
struct Attributes {
    std::int64_t values[32];
};

// D = alpha op(A) op(B) + beta C, of m x n, for each of a batch; op of C and D: by rows. Alpha and
// beta have the type of the computation, for which cuBLAS 10 had types of data.
struct Product {
    cudaStream_t stream;
    std::int64_t m, n, k;
    const void *alpha, *beta;
    Matrix a, b, c, d;
    int compute, batch = 1;
    const void *scales[2] = {}; // factors, of one float each on the device, if not nullptr
};
// Says why it fails: INVALID_VALUE for sizes, EXECUTION_FAILED for memory that is not the device's.
cublasStatus_t multiply(const Product &product);
} // namespace emulator::blas

#define EMULATOR_GEMM                                                                              \
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k

// (cuBLAS: cublasGemmStridedBatchedEx, cublasGemmEx, cublas<t>gemm, cublas<t>gemmStridedBatched.)
inline cublasStatus_t cublasGemmStridedBatchedEx(EMULATOR_GEMM, const void *alpha, const void *a,
                                                 cudaDataType_t a_type, int lda, long long a_by,
                                                 const void *b, cudaDataType_t b_type, int ldb,
                                                 long long b_by, const void *beta, void *c,
                                                 cudaDataType_t c_type, int ldc, long long c_by,
                                                 int batch, int compute, int = 0) {
    const emulator::blas::Matrix left{a, a_type, lda, op_a, a_by},
        right{b, b_type, ldb, op_b, b_by};
    const emulator::blas::Matrix to{c, c_type, ldc, CUBLAS_OP_N, c_by};
    return emulator::blas::multiply(
        {handle->stream, m, n, k, alpha, beta, left, right, to, to, compute, batch});
}
inline cublasStatus_t cublasGemmEx(EMULATOR_GEMM, const void *alpha, const void *a,
                                   cudaDataType_t a_type, int lda, const void *b,
                                   cudaDataType_t b_type, int ldb, const void *beta, void *c,
                                   cudaDataType_t c_type, int ldc, int compute, int = 0) {
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b,
                                      b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute);
}
#define EMULATOR_TYPED_GEMM(letter, T, is)                                                         \
    inline constexpr auto cublas##letter##gemmStridedBatched =                                     \
        [](EMULATOR_GEMM, const T *alpha, const T *a, int lda, long long a_by, const T *b,         \
           int ldb, long long b_by, const T *beta, T *c, int ldc, long long c_by, int batch) {     \
            return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, is, lda,      \
                                              a_by, b, is, ldb, b_by, beta, c, is, ldc, c_by,      \
                                              batch, is);                                          \
        };                                                                                         \
    inline constexpr auto cublas##letter##gemm = [](EMULATOR_GEMM, const T *alpha, const T *a,     \
                                                    int lda, const T *b, int ldb, const T *beta,   \
                                                    T *c, int ldc) {                               \
        return cublas##letter##gemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0,   \
                                                  b, ldb, 0, beta, c, ldc, 0, 1);                  \
    };
EMULATOR_TYPED_GEMM(S, float, CUDA_R_32F)
EMULATOR_TYPED_GEMM(D, double, CUDA_R_64F)
EMULATOR_TYPED_GEMM(H, __half, CUDA_R_16F)
