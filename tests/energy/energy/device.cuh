// What bench/energy/device.cuh has, for the emulator.
#pragma once

#include "device/shared_memory.cuh"
#include "device/tma.cuh"
#include "machine.h"
#include "emulator/tensor_core.h"

// It has no clock: it is always late enough. Nor has it policies of the L2.
DEVICE uint64_t nanoseconds() { return 0; }
DEVICE void wait_until(uint64_t) {}
DEVICE uint64_t evict_normal_policy() { return 0; }

template <int N>
DEVICE void wgmma_narrow(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate,
                         EMULATOR_SITE) {
    emulator::wgmma(acc, {.n = N, .accumulate = accumulate}, a, b, where);
}

// With A in registers nothing is multiplied, but it is counted as the other wgmmas are, once a
// warpgroup. Who waits for whom is what the test is about.
struct FragmentA {};

DEVICE FragmentA load_fragment_a(const bf16 *, int) { return {}; }

// The counts are no memory of the kernel's.
__attribute__((noinline, no_sanitize("thread"))) static void count_wgmma() {
    ++emulator::counts.wgmmas;
    emulator::counts.multiply_adds += 64 * 200 * 16;
}

DEVICE void wgmma_a_registers(float (&)[100], const FragmentA &, uint64_t, bool) {
    if (threadIdx.x % WARPGROUP_THREADS == 0)
        count_wgmma();
}
