// wgmma with A in registers, for the emulator, which has none: nothing is multiplied, but it is
// counted as the other wgmmas are, once a warpgroup. Who waits for whom is what the test is about.
#pragma once

#include "device/shared_memory.cuh"
#include "emulator/counts.h"

struct FragmentA {};

DEVICE FragmentA load_fragment_a(const bf16 *, int) { return {}; }

DEVICE void wgmma_a_registers(float (&)[100], const FragmentA &, uint64_t, bool) {
    if (threadIdx.x % WARPGROUP_THREADS == 0) {
        ++emulator::counts.wgmmas;
        emulator::counts.multiply_adds += 64 * 200 * 16;
    }
}
