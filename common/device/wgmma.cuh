// wgmma: a warpgroup's matrix multiply. D[64][N] (+)= A[64][16] * B[N][16]^T on the tensor cores, A
// and B bf16 in shared memory, D fp32 in the warpgroup's registers. Asynchronous: fence, start
// some, commit them as a group, wait for the group. (PTX ISA: Asynchronous Warpgroup Level Matrix
// Instructions: wgmma.)
#pragma once

#include "device/matrix_descriptor.cuh"

// Orders the warpgroup's earlier accesses to its accumulators before the wgmmas that follow. Needed
// before the first wgmma, and again whenever other code touched the accumulators. It does not order
// shared memory: tiles are made visible by the load's mbarrier, or by fence_proxy_async. All
// threads of the warpgroup call it. .sync waits for the lanes of a warp that come late, so no
// __syncwarp is needed before it. (PTX ISA: wgmma.fence.)
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Closes a group: the wgmmas that the warpgroup started since the last commit.
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `PENDING` of the warpgroup's latest groups are in flight; older ones have
// read their tiles and written their accumulators. The accumulators are named so that the compiler
// moves no use of them above the wait; with groups still in flight, only those groups' wgmmas may
// touch them.
template <int PENDING, int COUNT>
DEVICE void wgmma_wait(float (&acc)[COUNT]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        asm volatile("" : "+f"(acc[i])::"memory");
}

// The same for several blocks of accumulators.
template <int PENDING, int BLOCKS, int COUNT>
DEVICE void wgmma_wait(float (&acc)[BLOCKS][COUNT]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#pragma unroll
    for (int i = 0; i < BLOCKS * COUNT; ++i)
        asm volatile("" : "+f"(acc[i / COUNT][i % COUNT])::"memory");
}

// acc += A * B^T, or acc = A * B^T where `accumulate` is false; a and b are matrix descriptors. All
// 128 threads of a warpgroup call it. Thread t holds rows 16 (t / 32) + (t % 32) / 4 and that plus
// 8: acc[4j] and acc[4j + 1] are columns 8j + 2 (t % 4) and the next of the first row, acc[4j + 2]
// and acc[4j + 3] the same columns of the second. (PTX ISA: wgmma.mma_async, D fragment layout.)
template <int N>
DEVICE void wgmma(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate = true);

// The instruction names each accumulator, so every width has an asm statement of its own, which
// these macros write: the names of the registers, the operands, in the same order, the function.
#define NAMES_8 "%0, %1, %2, %3"
#define NAMES_16 NAMES_8 ", %4, %5, %6, %7"
#define NAMES_24 NAMES_16 ", %8, %9, %10, %11"
#define NAMES_32 NAMES_24 ", %12, %13, %14, %15"
#define NAMES_40 NAMES_32 ", %16, %17, %18, %19"
#define NAMES_48 NAMES_40 ", %20, %21, %22, %23"
#define NAMES_56 NAMES_48 ", %24, %25, %26, %27"
#define NAMES_64 NAMES_56 ", %28, %29, %30, %31"
#define NAMES_72 NAMES_64 ", %32, %33, %34, %35"
#define NAMES_80 NAMES_72 ", %36, %37, %38, %39"
#define NAMES_88 NAMES_80 ", %40, %41, %42, %43"
#define NAMES_96 NAMES_88 ", %44, %45, %46, %47"
#define NAMES_104 NAMES_96 ", %48, %49, %50, %51"
#define NAMES_112 NAMES_104 ", %52, %53, %54, %55"
#define NAMES_120 NAMES_112 ", %56, %57, %58, %59"
#define NAMES_128 NAMES_120 ", %60, %61, %62, %63"
#define NAMES_136 NAMES_128 ", %64, %65, %66, %67"
#define NAMES_144 NAMES_136 ", %68, %69, %70, %71"
#define NAMES_152 NAMES_144 ", %72, %73, %74, %75"
#define NAMES_160 NAMES_152 ", %76, %77, %78, %79"
#define NAMES_168 NAMES_160 ", %80, %81, %82, %83"
#define NAMES_176 NAMES_168 ", %84, %85, %86, %87"
#define NAMES_184 NAMES_176 ", %88, %89, %90, %91"
#define NAMES_192 NAMES_184 ", %92, %93, %94, %95"
#define NAMES_200 NAMES_192 ", %96, %97, %98, %99"
#define NAMES_208 NAMES_200 ", %100, %101, %102, %103"
#define NAMES_216 NAMES_208 ", %104, %105, %106, %107"
#define NAMES_224 NAMES_216 ", %108, %109, %110, %111"
#define NAMES_232 NAMES_224 ", %112, %113, %114, %115"
#define NAMES_240 NAMES_232 ", %116, %117, %118, %119"
#define NAMES_248 NAMES_240 ", %120, %121, %122, %123"
#define NAMES_256 NAMES_248 ", %124, %125, %126, %127"
#define FOUR(i) "+f"(acc[i]), "+f"(acc[i + 1]), "+f"(acc[i + 2]), "+f"(acc[i + 3])
#define OPERANDS_8 FOUR(0)
#define OPERANDS_16 OPERANDS_8, FOUR(4)
#define OPERANDS_24 OPERANDS_16, FOUR(8)
#define OPERANDS_32 OPERANDS_24, FOUR(12)
#define OPERANDS_40 OPERANDS_32, FOUR(16)
#define OPERANDS_48 OPERANDS_40, FOUR(20)
#define OPERANDS_56 OPERANDS_48, FOUR(24)
#define OPERANDS_64 OPERANDS_56, FOUR(28)
#define OPERANDS_72 OPERANDS_64, FOUR(32)
#define OPERANDS_80 OPERANDS_72, FOUR(36)
#define OPERANDS_88 OPERANDS_80, FOUR(40)
#define OPERANDS_96 OPERANDS_88, FOUR(44)
#define OPERANDS_104 OPERANDS_96, FOUR(48)
#define OPERANDS_112 OPERANDS_104, FOUR(52)
#define OPERANDS_120 OPERANDS_112, FOUR(56)
#define OPERANDS_128 OPERANDS_120, FOUR(60)
#define OPERANDS_136 OPERANDS_128, FOUR(64)
#define OPERANDS_144 OPERANDS_136, FOUR(68)
#define OPERANDS_152 OPERANDS_144, FOUR(72)
#define OPERANDS_160 OPERANDS_152, FOUR(76)
#define OPERANDS_168 OPERANDS_160, FOUR(80)
#define OPERANDS_176 OPERANDS_168, FOUR(84)
#define OPERANDS_184 OPERANDS_176, FOUR(88)
#define OPERANDS_192 OPERANDS_184, FOUR(92)
#define OPERANDS_200 OPERANDS_192, FOUR(96)
#define OPERANDS_208 OPERANDS_200, FOUR(100)
#define OPERANDS_216 OPERANDS_208, FOUR(104)
#define OPERANDS_224 OPERANDS_216, FOUR(108)
#define OPERANDS_232 OPERANDS_224, FOUR(112)
#define OPERANDS_240 OPERANDS_232, FOUR(116)
#define OPERANDS_248 OPERANDS_240, FOUR(120)
#define OPERANDS_256 OPERANDS_248, FOUR(124)
#define WGMMA(columns, a_name, b_name, accumulate_name)                                            \
    template <>                                                                                    \
    DEVICE void wgmma<columns>(float(&acc)[columns / 2], uint64_t a, uint64_t b,                   \
                               bool accumulate) {                                                  \
        asm volatile("{\n"                                                                         \
                     ".reg .pred accumulate;\n"                                                    \
                     "setp.ne.b32 accumulate, " accumulate_name ", 0;\n"                           \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32.bf16.bf16 "             \
                     "{" NAMES_##columns "}, " a_name ", " b_name ", accumulate, 1, 1, 0, 0;\n}"   \
                     : OPERANDS_##columns                                                          \
                     : "l"(a), "l"(b), "r"(int(accumulate)));                                      \
    }
WGMMA(8, "%4", "%5", "%6")
WGMMA(16, "%8", "%9", "%10")
WGMMA(24, "%12", "%13", "%14")
WGMMA(32, "%16", "%17", "%18")
WGMMA(40, "%20", "%21", "%22")
WGMMA(48, "%24", "%25", "%26")
WGMMA(56, "%28", "%29", "%30")
WGMMA(64, "%32", "%33", "%34")
WGMMA(72, "%36", "%37", "%38")
WGMMA(80, "%40", "%41", "%42")
WGMMA(88, "%44", "%45", "%46")
WGMMA(96, "%48", "%49", "%50")
WGMMA(104, "%52", "%53", "%54")
WGMMA(112, "%56", "%57", "%58")
WGMMA(120, "%60", "%61", "%62")
WGMMA(128, "%64", "%65", "%66")
WGMMA(136, "%68", "%69", "%70")
WGMMA(144, "%72", "%73", "%74")
WGMMA(152, "%76", "%77", "%78")
WGMMA(160, "%80", "%81", "%82")
WGMMA(168, "%84", "%85", "%86")
WGMMA(176, "%88", "%89", "%90")
WGMMA(184, "%92", "%93", "%94")
WGMMA(192, "%96", "%97", "%98")
WGMMA(200, "%100", "%101", "%102")
WGMMA(208, "%104", "%105", "%106")
WGMMA(216, "%108", "%109", "%110")
WGMMA(224, "%112", "%113", "%114")
WGMMA(232, "%116", "%117", "%118")
WGMMA(240, "%120", "%121", "%122")
WGMMA(248, "%124", "%125", "%126")
WGMMA(256, "%128", "%129", "%130")
