// What the parts need and common/device does not have, since no rung wants it.
// tests/energy/energy/device.cuh has the same for the emulator.
#pragma once

#include <chrono>
#include <thread>

#include "device/launch.cuh"
#include "device/shared_memory.cuh"
#include "device/swizzle.cuh"
#include "device/tma.cuh"

// The clock that all SMs share, in nanoseconds. (PTX ISA: Special Registers, %globaltimer.)
DEVICE uint64_t nanoseconds() {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

// Returns at that time; asleep until then, so that the looking costs little.
DEVICE void wait_until(uint64_t time) {
    constexpr int NAP = 64; // nanoseconds
    while (nanoseconds() < time)
        __nanosleep(NAP);
}

// A launch that takes the GPU no work: the stream waits while a thread of the host sleeps. It is so
// long that the counter is read many times in a launch's turn, and few launches fill a second.
inline int sleep_on_host(cudaStream_t stream) {
    const auto sleep = [](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
    return launch_check(cudaLaunchHostFunc(stream, sleep, nullptr), "launching a sleep");
}

// A policy whose loads the hardware does not merge with their neighbours': it shows what merging
// saves. It is the policy that a load has anyway, but named: the lines come and go as before, and
// in trials the L2 then answered each CTA's request by itself. (PTX ISA: createpolicy; cache_hint
// of cp.async.bulk.tensor. No document says that merging depends on it.)
DEVICE uint64_t evict_normal_policy() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// The 64 x 16 columns of A that one wgmma multiplies, as the warpgroup's threads hold them: thread
// t has rows 16 (t / 32) + (t % 32) / 4 and that plus 8; of each columns 2 (t % 4) and the next,
// and those plus 8. (PTX ISA: wgmma.mma_async, Register Fragments, matrix A of m64nNk16.)
struct FragmentA {
    uint32_t pairs[4];
};

// Reads the fragment whose first column is `column` from a tile [64][64] in TMA's 128-byte swizzle.
// The copy that brought the tile has to have been waited for.
DEVICE FragmentA load_fragment_a(const bf16 *tile, int column) {
    const int thread = threadIdx.x % WARPGROUP_THREADS;
    const int row = thread / WARP_THREADS * 16 + thread % WARP_THREADS / 4;
    const int first = column + thread % 4 * 2;
    FragmentA fragment;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        fragment.pairs[i] = *reinterpret_cast<const uint32_t *>(
            &tile[swizzle_128b(row + i % 2 * 8, first + i / 2 * 8)]);
    return fragment;
}

// The accumulators of a wgmma: their numbers in PTX, and their operands.
#define NUMBERS_20                                                                                 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "        \
    "%19"
#define NUMBERS_48                                                                                 \
    NUMBERS_20                                                                                     \
    ", %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "           \
    "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define NUMBERS_52                                                                                 \
    NUMBERS_48                                                                                     \
    ", %48, %49, %50, %51"
#define NUMBERS_100                                                                                \
    NUMBERS_52                                                                                     \
    ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "           \
    "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, "        \
    "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99"
#define FOUR(i) "+f"(acc[i]), "+f"(acc[i + 1]), "+f"(acc[i + 2]), "+f"(acc[i + 3])
#define SUMS_20 FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16)
#define SUMS_48 SUMS_20, FOUR(20), FOUR(24), FOUR(28), FOUR(32), FOUR(36), FOUR(40), FOUR(44)
#define SUMS_52 SUMS_48, FOUR(48)
#define SUMS_100                                                                                   \
    SUMS_52, FOUR(52), FOUR(56), FOUR(60), FOUR(64), FOUR(68), FOUR(72), FOUR(76), FOUR(80),       \
        FOUR(84), FOUR(88), FOUR(92), FOUR(96)

// acc (+)= A * B^T as wgmma<N> of common/device, for widths that no rung uses: fewer columns an
// instruction show what reading A again costs. (PTX ISA: wgmma.mma_async; N is a multiple of 8.)
template <int N>
DEVICE void wgmma_narrow(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate);

// COUNT: of the accumulators. The operands after them are A_AND_B, and P, which says whether to
// add.
#define WGMMA_NARROW(COLUMNS, COUNT, A_AND_B, P)                                                   \
    template <>                                                                                    \
    DEVICE void wgmma_narrow<COLUMNS>(float(&acc)[COUNT], uint64_t a, uint64_t b,                  \
                                      bool accumulate) {                                           \
        asm volatile("{ .reg .pred accumulate; setp.ne.b32 accumulate, " P ", 0;\n"                \
                     "wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32.bf16.bf16\n"            \
                     "{" NUMBERS_##COUNT "}, " A_AND_B ", accumulate, 1, 1, 0, 0; }"               \
                     : SUMS_##COUNT                                                                \
                     : "l"(a), "l"(b), "r"(int(accumulate)));                                      \
    }
WGMMA_NARROW(40, 20, "%20, %21", "%22")
WGMMA_NARROW(96, 48, "%48, %49", "%50")
WGMMA_NARROW(104, 52, "%52, %53", "%54")

// acc (+)= A * B^T as wgmma<200> of common/device, with A in registers: it shows what reading A
// costs. They must not be written until the wgmma has been waited for. (PTX ISA: wgmma.mma_async,
// the form with a vector for A: no imm-trans-a.)
DEVICE void wgmma_a_registers(float (&acc)[100], const FragmentA &a, uint64_t b, bool accumulate) {
    asm volatile("{\n"
                 ".reg .pred accumulate;\n"
                 "setp.ne.b32 accumulate, %105, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n200k16.f32.bf16.bf16 {" NUMBERS_100 "}, "
                 "{%100, %101, %102, %103}, %104, accumulate, 1, 1, 0;\n"
                 "}"
                 : SUMS_100
                 : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "l"(b),
                   "r"(int(accumulate)));
}
