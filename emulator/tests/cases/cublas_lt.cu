// cuBLASLt's matmul: rows and columns, transposes, batches, types, scales; a launch on the stream
// (cuBLAS, cublasLtMatmul). What it lacks is named: the emulator does not know it.
// expect columns, rows, batch, int8, fp8: silent
// expect misfit, host: wrong, says cuBLAS fails .*(sizes of the matrices do not fit|device memory at 0x\w+, which is none)
// expect stream: hazard, says // READ
// expect bias, col32: wrong, says cu:\d+: cublasLtMatmul with CUBLASLT_MA\w+_(EPILOGUE = 4|ORDER = 2)\n.* not know
#include "common.h"
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
__global__ void read(float *d, int *out) { out[threadIdx.x] = int(d[threadIdx.x]); } // READ
constexpr int M = 4, N = 6, K = 8;
template <typename T, typename D>
int product(cudaDataType_t of_t, cudaDataType_t of_d, cudaDataType_t of_scale, How how) {
    const bool rows = how == "rows", misfit = how == "misfit", is_int = of_scale == CUDA_R_32I;
    const int batch = how == "batch" ? 2 : 1, one_int = 1, zero_int = 0;
    const float one = 1, zero = 0, half = 0.5f;
    std::vector<T> x(batch * M * K), y(batch * N * K); // A by rows or A^T by columns, B^T by rows
    for (int i = 0; i < batch * M * K; ++i) x[i] = T(float(i % 5 - 2));
    for (int i = 0; i < batch * N * K; ++i) y[i] = T(float(i % 7 - 3));
    T *a = dev(x.size(), T()), *b = dev(y.size(), T());
    D *d = dev(batch * M * N, D());
    cudaMemcpy(a, x.data(), x.size() * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(b, y.data(), y.size() * sizeof(T), cudaMemcpyHostToDevice);
    cublasLtHandle_t blas;
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a_is, b_is, d_is;
    CHECK(!cublasLtCreate(&blas));
    CHECK(!cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, of_scale));
    CHECK(!cublasLtMatrixLayoutCreate(&a_is, of_t, rows ? M : K, rows ? K : misfit ? M - 1 : M, K));
    CHECK(!cublasLtMatrixLayoutCreate(&b_is, of_t, K, N, K));
    CHECK(!cublasLtMatrixLayoutCreate(&d_is, of_d, M, N, rows ? N : M));
    const auto set = [&](auto attribute, auto value) {
        CHECK(!cublasLtMatmulDescSetAttribute(op, attribute, &value, sizeof value));
    };
    const auto lay = [](cublasLtMatrixLayout_t is, auto attribute, auto value) {
        CHECK(!cublasLtMatrixLayoutSetAttribute(is, attribute, &value, sizeof value));
    };
    if (!rows) set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (how == "bias") set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    const bool scaled = how == "fp8";
    if (scaled) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, dev(1, half));
    if (how == "col32") lay(a_is, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL32);
    for (auto is : {a_is, d_is})
        if (rows) lay(is, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_ROW);
    const long long by[] = {M * K, N * K, M * N};
    for (auto is : {a_is, b_is, d_is}) {
        lay(is, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
        lay(is, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
            by[is == a_is ? 0 : is == b_is ? 1 : 2]);
    }
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count;
    CHECK(!cublasLtMatmulPreferenceCreate(&preference));
    CHECK(!cublasLtMatmulAlgoGetHeuristic(blas, op, a_is, b_is, d_is, d_is, preference, 1, &found,
                                          &count) && count == 1);
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    const void *alpha = is_int ? (void *)&one_int : &one, *beta = is_int ? (void *)&zero_int : &zero;
    CHECK(!cublasLtMatmul(blas, op, alpha, how == "host" ? x.data() : a, a_is, b, b_is, beta, d,
                          d_is, d, d_is, &found.algo, nullptr, 0, stream));
    if (how == "stream") read<<<1, M * N>>>((float *)d, dev(M * N, 0));
    const std::vector<D> got = host(d, batch * M * N);
    for (int i = 0; i < batch * M * N; ++i) {
        const int m = rows ? i / N : i % M, n = rows ? i % N : i % (M * N) / M, z = i / (M * N);
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum += float(x[z * M * K + m * K + k]) * float(y[z * N * K + n * K + k]);
        CHECK(float(got[i]) == (scaled ? sum / 2 : sum));
    }
    cublasLtMatmulDescDestroy(op), cublasLtMatrixLayoutDestroy(a_is);
    RETURN(!cublasLtMatmulPreferenceDestroy(preference) && !cublasLtDestroy(blas));
}
int main(int, char **argv) {
    const How how = how_of(argv);
    if (how == "int8") return product<signed char, int>(CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, how);
    if (how == "fp8")
        return product<__nv_fp8_e4m3, __nv_bfloat16>(CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, how);
    if (how == "rows" || how == "batch")
        return product<__nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, how);
    return product<float, float>(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, how);
}
