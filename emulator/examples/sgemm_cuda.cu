// SGEMM_CUDA's kernels 1 to 12 on the emulator: 128 x 128 x 64, against a plain reference.
//
//     emulator/translate/run -I CLONE/src emulator/examples/sgemm_cuda.cu -- KERNEL
#include "runner.cu"

#include "check.h"

int main(int, char **argv) {
    const int M = 128, N = 128, K = 64;
    const float alpha = 0.5f, beta = 3.0f;
    const auto a = numbers<float>(M * K, 1), b = numbers<float>(K * N, 2);
    auto c = numbers<float>(M * N, 3), expected = c;
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n) {
            float sum = 0;
            for (int k = 0; k < K; ++k)
                sum += a[m * K + k] * b[k * N + n];
            expected[m * N + n] = alpha * sum + beta * c[m * N + n];
        }
    float *da = on_device(a), *db = on_device(b), *dc = on_device(c);
    run_kernel(atoi(argv[1]), M, N, K, alpha, da, db, beta, dc, nullptr);
    return compare(dc, expected);
}
