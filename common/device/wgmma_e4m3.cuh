// wgmma of e4m3: D[64][N] (+)= A[64][32] * B[N][32]^T. A wgmma takes 32 bytes of a row, as of bf16:
// tiles of 128-byte rows, swizzle, descriptors and the accumulators' places are the same, and so
// are the fence, the commit and the wait. But the sums are no fp32 sums: they keep 13 fraction bits
// and are cut off, not rounded. (PTX ISA: wgmma.mma_async; arXiv 2511.10909.)
#pragma once

#include "device/wgmma.cuh"

// acc += A * B^T, or acc = A * B^T where `accumulate` is false; a and b are matrix descriptors of
// K-major tiles: of 8 bits there is no other layout. All 128 threads of a warpgroup call it.
template <int N>
DEVICE void wgmma_e4m3(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate = true);

#define WGMMA_E4M3(columns, a_name, b_name, accumulate_name)                                       \
    template <>                                                                                    \
    DEVICE void wgmma_e4m3<columns>(float(&acc)[columns / 2], uint64_t a, uint64_t b,              \
                                    bool accumulate) {                                             \
        asm volatile("{\n"                                                                         \
                     ".reg .pred accumulate;\n"                                                    \
                     "setp.ne.b32 accumulate, " accumulate_name ", 0;\n"                           \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.f32.e4m3.e4m3 "             \
                     "{" NAMES_##columns "}, " a_name ", " b_name ", accumulate, 1, 1;\n}"         \
                     : OPERANDS_##columns                                                          \
                     : "l"(a), "l"(b), "r"(int(accumulate)));                                      \
    }
// One statement for each width, as in wgmma.cuh.
WGMMA_E4M3(8, "%4", "%5", "%6")
WGMMA_E4M3(64, "%32", "%33", "%34")
WGMMA_E4M3(128, "%64", "%65", "%66")
WGMMA_E4M3(176, "%88", "%89", "%90")
WGMMA_E4M3(200, "%100", "%101", "%102")
WGMMA_E4M3(256, "%128", "%129", "%130")
