// fast.cu's kernels 1 to 12 on the emulator: C, by columns, is A * B^T. An example of a main for
// kernels of another project. Operands are small integers, whose sums are exact.
//
//     emulator/translate/run -I CLONE -D NDEBUG emulator/examples/fast_cu.cu -- KERNEL M N K
//
// Kernels 6 to 10 take tiles in groups of 2048 x 2048.
#define main main_of_fast_cu
#include "matmul.cu"
#undef main

#include <random>
#include <vector>

// From -2 to 2.
static std::vector<bf16> numbers(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<bf16> made(count);
    for (bf16 &value : made)
        value = bf16(float(int(random() % 5) - 2));
    return made;
}

static bf16 *on_device(const std::vector<bf16> &values) {
    bf16 *memory = nullptr;
    cudaMalloc(&memory, values.size() * sizeof(bf16));
    cudaMemcpy(memory, values.data(), values.size() * sizeof(bf16), cudaMemcpyHostToDevice);
    return memory;
}

int main(int argc, char **argv) {
    const int M = argc > 2 ? atoi(argv[2]) : 512, N = argc > 3 ? atoi(argv[3]) : M;
    const int K = argc > 4 ? atoi(argv[4]) : 320;
    const auto a = numbers(size_t(M) * K, 1), b = numbers(size_t(N) * K, 2);
    std::vector<bf16> c(size_t(M) * N, bf16(1e9f));
    bf16 *da = on_device(a), *db = on_device(b), *dc = on_device(c);
    run_kernel(argc > 1 ? atoi(argv[1]) : 1, M, N, K, da, db, dc);
    cudaMemcpy(c.data(), dc, c.size() * sizeof(bf16), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int n = 0; n < N; ++n)
        for (int m = 0; m < M; ++m) {
            float sum = 0;
            for (int k = 0; k < K; ++k)
                sum += float(a[size_t(m) * K + k]) * float(b[size_t(n) * K + k]);
            wrong += float(c[size_t(n) * M + m]) != float(bf16(sum));
        }
    printf("%d of %zu elements are wrong\n", wrong, c.size());
    return wrong != 0;
}
