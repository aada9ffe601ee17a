// cuBLAS, as far as programs check themselves against it: a call is a launch on the handle's
// stream, computed by the CPU. Sums are fp64 and rounded once, whatever the compute type. (cuBLAS:
// Using the cuBLAS API.)
#pragma once
#define CUBLAS_API_H_ // for programs that ask whether it is included

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define EMULATOR_STATUSES(is)                                                                      \
    is(SUCCESS, 0) is(NOT_INITIALIZED, 1) is(ALLOC_FAILED, 3) is(INVALID_VALUE, 7)                 \
        is(ARCH_MISMATCH, 8) is(MAPPING_ERROR, 11) is(EXECUTION_FAILED, 13) is(INTERNAL_ERROR, 14) \
            is(NOT_SUPPORTED, 15) is(LICENSE_ERROR, 16)
#define EMULATOR_STATUS(name, value) CUBLAS_STATUS_##name = value,
enum cublasStatus_t { EMULATOR_STATUSES(EMULATOR_STATUS) };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
inline constexpr auto CUBLAS_GEMM_DFALT = CUBLAS_GEMM_DEFAULT;
// clang-format off
enum cudaDataType_t {
    CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_32I = 10, CUDA_R_16BF = 14
};
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
// batch `stride`. A vector is a matrix of one row, whose `leading` is the increment.
struct Matrix {
    const void *data;
    cudaDataType_t type;
    std::int64_t leading, stride = 0;
    bool transposed = false;
};

// C = alpha op(A) op(B) + beta C, of m x n, for each of a batch; alpha and beta are `scalars`. Says
// why it fails: INVALID_VALUE for sizes, EXECUTION_FAILED for memory that is not the device's.
cublasStatus_t multiply(cudaStream_t stream, std::int64_t m, std::int64_t n, std::int64_t k,
                        const void *alpha, const Matrix &a, const Matrix &b, const void *beta,
                        const Matrix &c, int batch, cudaDataType_t scalars);

template <typename T>
constexpr cudaDataType_t TYPE = std::is_same_v<T, float>    ? CUDA_R_32F
                                : std::is_same_v<T, double> ? CUDA_R_64F
                                                            : CUDA_R_16F;

#define EMULATOR_GEMM                                                                              \
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k

// A product by the type of its computation, for which cuBLAS 10 had types of data.
inline cublasStatus_t product(EMULATOR_GEMM, const void *alpha, Matrix a, Matrix b,
                              const void *beta, const Matrix &c, int batch, int compute) {
    const auto scalars = compute < CUBLAS_COMPUTE_16F    ? cudaDataType_t(compute)
                         : compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F
                         : compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F
                         : compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I
                                                         : CUDA_R_32F;
    a.transposed = op_a != CUBLAS_OP_N, b.transposed = op_b != CUBLAS_OP_N;
    return multiply(handle->stream, m, n, k, alpha, a, b, beta, c, batch, scalars);
}

template <typename T>
inline constexpr auto gemm = [](EMULATOR_GEMM, const T *alpha, const T *a, int lda, const T *b,
                                int ldb, const T *beta, T *c, int ldc) {
    return product(handle, op_a, op_b, m, n, k, alpha, {a, TYPE<T>, lda}, {b, TYPE<T>, ldb}, beta,
                   {c, TYPE<T>, ldc}, 1, TYPE<T>);
};
template <typename T>
inline constexpr auto gemv = [](cublasHandle_t handle, cublasOperation_t op, int m, int n,
                                const T *alpha, const T *a, int lda, const T *x, int x_by,
                                const T *beta, T *y, int y_by) {
    const bool is_turned = op != CUBLAS_OP_N;
    const Matrix to{y, TYPE<T>, y_by, 0, true};
    return multiply(handle->stream, is_turned ? n : m, 1, is_turned ? m : n, alpha,
                    {a, TYPE<T>, lda, 0, is_turned}, {x, TYPE<T>, x_by, 0, true}, beta, to, 1,
                    TYPE<T>);
};

} // namespace emulator::blas

// (cuBLAS: cublas<t>gemm, cublas<t>gemv, cublasGemmEx, cublasGemmStridedBatchedEx.)
inline constexpr auto &cublasSgemm = emulator::blas::gemm<float>;
inline constexpr auto &cublasDgemm = emulator::blas::gemm<double>;
inline constexpr auto &cublasHgemm = emulator::blas::gemm<__half>;
inline constexpr auto &cublasSgemv = emulator::blas::gemv<float>;
inline cublasStatus_t cublasGemmEx(EMULATOR_GEMM, const void *alpha, const void *a,
                                   cudaDataType_t a_type, int lda, const void *b,
                                   cudaDataType_t b_type, int ldb, const void *beta, void *c,
                                   cudaDataType_t c_type, int ldc, int compute, int = 0) {
    return emulator::blas::product(handle, op_a, op_b, m, n, k, alpha, {a, a_type, lda},
                                   {b, b_type, ldb}, beta, {c, c_type, ldc}, 1, compute);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(EMULATOR_GEMM, const void *alpha, const void *a,
                                                 cudaDataType_t a_type, int lda, long long a_by,
                                                 const void *b, cudaDataType_t b_type, int ldb,
                                                 long long b_by, const void *beta, void *c,
                                                 cudaDataType_t c_type, int ldc, long long c_by,
                                                 int batch, int compute, int = 0) {
    return emulator::blas::product(handle, op_a, op_b, m, n, k, alpha, {a, a_type, lda, a_by},
                                   {b, b_type, ldb, b_by}, beta, {c, c_type, ldc, c_by}, batch,
                                   compute);
}
