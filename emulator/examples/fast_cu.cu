// A kernel of fast.cu on the emulator: C, by columns, is A * B^T.
//
//     emulator/translate/run -I CLONE/examples/matmul -D KERNEL=12 -D NDEBUG \
//         -D 'KERNEL_FILE="matmul_12.cuh"' emulator/examples/fast_cu.cu -- M N K
//
// Kernels 6 to 10 take tiles in groups of 2048 x 2048.
#include "check.h"

#include <cassert>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <string>

// What its files expect of the file that includes them.
typedef __nv_bfloat16 bf16;
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(call) expect_success(call, #call)

#include KERNEL_FILE
#define RUN_OF(number) runKernel##number
#define RUN(number) RUN_OF(number)

int main(int argc, char **argv) {
    const int M = argc > 1 ? atoi(argv[1]) : 512, N = argc > 2 ? atoi(argv[2]) : M;
    const int K = argc > 3 ? atoi(argv[3]) : 320;
    const auto a = numbers<bf16>(size_t(M) * K, 1), b = numbers<bf16>(size_t(N) * K, 2);
    bf16 *da = on_device(a), *db = on_device(b);
    bf16 *dc = on_device(std::vector<bf16>(size_t(M) * N, bf16(1e9f)));
#if KERNEL <= 2
    RUN(KERNEL)(M, N, K, da, db, dc);
#else
    RUN(KERNEL)(M, N, K, da, db, dc, nullptr);
#endif
    return compare(dc, product(b, a, N, M, K), M);
}
