// What the parts need and common/device does not have, since no rung wants it.
// tests/energy/energy/device.cuh has the same for the emulator.
#pragma once

#include <chrono>
#include <thread>

#include "device/clock.cuh"
#include "device/launch.cuh"
#include "device/shared_memory.cuh"
#include "device/swizzle.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

// Returns at that time; asleep until then, so that the looking costs little.
DEVICE void wait_until(uint64_t time) {
    constexpr int NAP = 64; // nanoseconds
    while (nanoseconds() < time)
        __nanosleep(NAP);
}

// A launch without work for the GPU: the stream waits for a thread of the host, which sleeps.
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

// acc (+)= A * B^T as wgmma<200> of common/device, with A in registers: it shows what reading A
// costs. They must not be written until the wgmma has been waited for. (PTX ISA: wgmma.mma_async,
// the form with a vector for A: no imm-trans-a.)
DEVICE void wgmma_a_registers(float (&acc)[100], const FragmentA &a, uint64_t b, bool accumulate) {
    asm volatile("{\n"
                 ".reg .pred accumulate;\n"
                 "setp.ne.b32 accumulate, %105, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n200k16.f32.bf16.bf16 {" NAMES_200 "}, "
                 "{%100, %101, %102, %103}, %104, accumulate, 1, 1, 0;\n"
                 "}"
                 : OPERANDS_200
                 : "r"(a.pairs[0]), "r"(a.pairs[1]), "r"(a.pairs[2]), "r"(a.pairs[3]), "l"(b),
                   "r"(int(accumulate)));
}
