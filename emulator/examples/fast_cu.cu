// fast.cu's kernels 1 to 12 on the emulator: C, by columns, is A * B^T.
//
//     emulator/translate/run -I CLONE -D NDEBUG emulator/examples/fast_cu.cu -- KERNEL M N K
//
// Kernels 6 to 10 take tiles in groups of 2048 x 2048.
#define main main_of_fast_cu
#include "matmul.cu"
#undef main

#include "check.h"

int main(int argc, char **argv) {
    const int M = argc > 2 ? atoi(argv[2]) : 512, N = argc > 3 ? atoi(argv[3]) : M;
    const int K = argc > 4 ? atoi(argv[4]) : 320;
    const auto a = numbers<bf16>(size_t(M) * K, 1), b = numbers<bf16>(size_t(N) * K, 2);
    bf16 *da = on_device(a), *db = on_device(b);
    bf16 *dc = on_device(std::vector<bf16>(size_t(M) * N, bf16(1e9f)));
    run_kernel(atoi(argv[1]), M, N, K, da, db, dc);
    return compare(dc, product(b, a, N, M, K));
}
