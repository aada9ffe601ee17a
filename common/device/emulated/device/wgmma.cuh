// The emulator's wgmma: collective over the warpgroup, completed when the policy says. Accumulators
// that are touched while in flight, or used without a fence, are HAZARDs.
#pragma once

#include "device/matrix_descriptor.cuh"

#include "emulator/tensor_core.h"

// wgmma.fence.
DEVICE void wgmma_fence(EMULATOR_SITE) { emulator::wgmma_fence(where); }

// wgmma.commit_group.
DEVICE void wgmma_commit(EMULATOR_SITE) { emulator::wgmma_commit(where); }

// wgmma.wait_group. The emulator knows which accumulators the groups write; the compiler must not
// keep values of these over the wait.
template <int PENDING, int COUNT>
DEVICE void wgmma_wait(float (&acc)[COUNT], EMULATOR_SITE) {
    emulator::wgmma_wait(PENDING, where);
    asm volatile("" ::"r"(acc) : "memory");
}

// The same for several blocks of accumulators.
template <int PENDING, int BLOCKS, int COUNT>
DEVICE void wgmma_wait(float (&acc)[BLOCKS][COUNT], EMULATOR_SITE) {
    emulator::wgmma_wait(PENDING, where);
    asm volatile("" ::"r"(acc) : "memory");
}

// wgmma.mma_async with N columns.
template <int N>
DEVICE void wgmma(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate = true,
                  EMULATOR_SITE) {
    static_assert(N >= 8 && N <= 256 && N % 8 == 0, "there is no such wgmma");
    emulator::wgmma(acc, {.n = N, .accumulate = accumulate}, a, b, where);
}
