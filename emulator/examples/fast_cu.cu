// A kernel of fast.cu on the emulator: C, by columns, is A * B^T.
//
//     emulator/translate/run -I CLONE -D KERNEL=12 -D NDEBUG emulator/examples/fast_cu.cu -- M N K
//
// Kernels 6 to 10 take tiles in groups of 2048 x 2048.
#include <cassert>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <string>
#include <vector>

#include "check.h"

// What its files expect of the file that includes them.
typedef __nv_bfloat16 bf16;
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(call) expect_success(call, #call)

#if KERNEL == 1
#include "examples/matmul/matmul_1.cuh"
#define RUN runKernel1
#elif KERNEL == 2
#include "examples/matmul/matmul_2.cuh"
#define RUN runKernel2
#elif KERNEL == 3
#include "examples/matmul/matmul_3.cuh"
#define RUN runKernel3
#elif KERNEL == 4
#include "examples/matmul/matmul_4.cuh"
#define RUN runKernel4
#elif KERNEL == 5
#include "examples/matmul/matmul_5.cuh"
#define RUN runKernel5
#elif KERNEL == 6
#include "examples/matmul/matmul_6.cuh"
#define RUN runKernel6
#elif KERNEL == 7
#include "examples/matmul/matmul_7.cuh"
#define RUN runKernel7
#elif KERNEL == 8
#include "examples/matmul/matmul_8.cuh"
#define RUN runKernel8
#elif KERNEL == 9
#include "examples/matmul/matmul_9.cuh"
#define RUN runKernel9
#elif KERNEL == 10
#include "examples/matmul/matmul_10.cuh"
#define RUN runKernel10
#elif KERNEL == 11
#include "examples/matmul/matmul_11.cuh"
#define RUN runKernel11
#else
#include "examples/matmul/matmul_12.cuh"
#define RUN runKernel12
#endif

int main(int argc, char **argv) {
    const int M = argc > 1 ? atoi(argv[1]) : 512, N = argc > 2 ? atoi(argv[2]) : M;
    const int K = argc > 3 ? atoi(argv[3]) : 320;
    const auto a = numbers<bf16>(size_t(M) * K, 1), b = numbers<bf16>(size_t(N) * K, 2);
    bf16 *da = on_device(a), *db = on_device(b);
    bf16 *dc = on_device(std::vector<bf16>(size_t(M) * N, bf16(1e9f)));
#if KERNEL <= 2
    RUN(M, N, K, da, db, dc);
#else
    RUN(M, N, K, da, db, dc, nullptr);
#endif
    return compare<bf16>(dc, rounded<bf16>(product(b, a, N, M, K)), N, M);
}
