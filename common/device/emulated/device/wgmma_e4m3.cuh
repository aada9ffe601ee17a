// The emulator's wgmma of e4m3: as wgmma.cuh, with the sums of e4m3.h.
#pragma once

#include "device/wgmma.cuh"

// wgmma.mma_async with N columns.
template <int N>
DEVICE void wgmma_e4m3(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate = true,
                       EMULATOR_SITE) {
    static_assert(N >= 8 && N <= 256 && N % 8 == 0, "there is no such wgmma");
    emulator::wgmma(acc, {.n = N, .accumulate = accumulate, .e4m3 = true}, a, b, where);
}
