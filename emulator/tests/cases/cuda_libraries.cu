// RIGHT: cuBLAS as the product that a program checks itself against; WRONG: nothing orders it (cuBLAS,
// Using the cuBLAS API: Streams).
// expect right: silent
// expect other_stream: hazard, says an earlier launch or copy(?s:.*)// READ
// expect short_leading: wrong, says cuBLAS fails with CUBLAS_STATUS_INVALID_VALUE
// expect past_end: wrong, says cuBLAS fails with CUBLAS_STATUS_EXECUTION_FAILED: it reads
#include "common.h"
#include <cublas_v2.h>
#include <cuda_bf16.h>
#define CHECKED(call) CHECK((call) == CUBLAS_STATUS_SUCCESS)
constexpr int M = 5, N = 3, K = 4, LDA = 7;
__global__ void triple(float *c) { c[threadIdx.x] *= 3; } // READ
template <typename T> std::vector<T> numbers(int count) {
    std::vector<T> made;
    for (int i = 0; i < count; ++i) made.push_back(T(float(i % 7 - 3)));
    return made;
}
template <typename T> T *up(const std::vector<T> &from) {
    T *to = dev(from.size(), T());
    cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
    return to;
}
// 2 A^T B + c, of the numbers above.
float wanted(int row, int column, float c) {
    const auto a = numbers<float>(LDA * M), b = numbers<float>(K * N);
    for (int k = 0; k < K; ++k) c += 2 * a[k + row * LDA] * b[k + column * K];
    return c;
}
int main(int, char **argv) {
    const How lacks = how_of(argv);
    cublasHandle_t blas;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    CHECKED(cublasCreate(&blas));
    CHECKED(cublasSetStream(blas, stream));
    const float two = 2, one = 1, zero = 0;
    float *a = up(numbers<float>(LDA * M)), *b = up(numbers<float>(K * N)), *c = dev(M * N, 1.f);
    CHECKED(cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &two, a,
                        lacks == "short_leading" ? 3 : lacks == "past_end" ? 9 : LDA, b, K, &one,
                        c, M));
    triple<<<1, M * N, 0, lacks == "other_stream" ? nullptr : stream>>>(c);
    CHECK(all(host(c, M * N), [](int i, float v) { return v == 3 * wanted(i % M, i / M, 1); }));
    auto *bf_a = up(numbers<__nv_bfloat16>(LDA * M)), *bf_b = up(numbers<__nv_bfloat16>(K * N));
    float *both = dev(2 * M * N, NAN); // beta is 0
    CHECKED(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &two, bf_a,
                                       CUDA_R_16BF, LDA, 0, bf_b, CUDA_R_16BF, K, 0, &zero, both,
                                       CUDA_R_32F, M, M * N, 2, CUBLAS_COMPUTE_32F,
                                       CUBLAS_GEMM_DEFAULT));
    CHECK(all(host(both, 2 * M * N),
              [](int i, float v) { return v == wanted(i % M, i / M % N, 0); }));
    float *y = dev(M, 0.f);
    CHECKED(cublasSgemv(blas, CUBLAS_OP_T, K, M, &two, a, LDA, b, 1, &zero, y, 1));
    CHECK(all(host(y, M), [](int i, float v) { return v == wanted(i, 0, 0); }));
    RETURN(cublasDestroy(blas) == 0 && cublasGetStatusName(CUBLAS_STATUS_SUCCESS)[0] == 'C');
}
