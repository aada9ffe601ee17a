// cuda_hgemm's mma kernels on the emulator: C = A * B^T in fp16.
//
//     emulator/translate/run -I CLONE/src -I CLONE/src/common \
//         emulator/examples/cuda_hgemm.cu -- KERNEL
//
// 1 naive, 2 base, 3 permuted, 4 async, 5 async_pg2s, 6 async_pg2s_ps2r, 7 to 9 stage 2 to 4.
#include <random>

#include "mma/mma_async.cu"
#include "mma/mma_async_pg2s.cu"
#include "mma/mma_async_pg2s_ps2r.cu"
#include "mma/mma_async_stage2.cu"
#include "mma/mma_async_stage3.cu"
#include "mma/mma_async_stage4.cu"
#include "mma/mma_base.cu"
#include "mma/mma_naive.cu"
#include "mma/mma_permuted.cu"

#include "check.h"

int main(int, char **argv) {
    const int M = 512, N = 256, K = 160;
    void (*const kernels[])(half *, half *, half *, size_t, size_t, size_t) = {
        mmaNaive,         mmaBase,        mmaPermuted,    mmaAsync,      mmaAsyncPg2s,
        mmaAsyncPg2sPs2r, mmaAsyncStage2, mmaAsyncStage3, mmaAsyncStage4};
    const auto a = numbers<half>(M * K, 1), b = numbers<half>(N * K, 2);
    half *da = on_device(a), *db = on_device(b), *dc = on_device(std::vector<half>(M * N));
    kernels[atoi(argv[1]) - 1](da, db, dc, M, N, K);
    return compare(dc, product(a, b, M, N, K));
}
