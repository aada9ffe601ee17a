// wgmma with A in registers, for the emulator, which has none: nothing is multiplied. Who waits for
// whom is what the test is about.
#pragma once

#include "device/shared_memory.cuh"

struct FragmentA {};

DEVICE FragmentA load_fragment_a(const bf16 *, int) { return {}; }
DEVICE void wgmma_a_registers(float (&)[128], const FragmentA &, uint64_t, bool) {}
