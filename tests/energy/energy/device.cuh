// What bench/energy/device.cuh has, for the emulator.
#pragma once

#include "device/clock.cuh"
#include "device/launch.cuh"
#include "device/shared_memory.cuh"
#include "device/tma.cuh"
#include "machine.h"
#include "emulator/tensor_core.h"

// Always late enough.
DEVICE void wait_until(uint64_t) {}

// There is nobody to wait for the host.
inline int sleep_on_host(cudaStream_t) { return 0; }

// The emulator's L2 has no policies.
DEVICE uint64_t evict_normal_policy() { return 0; }
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
