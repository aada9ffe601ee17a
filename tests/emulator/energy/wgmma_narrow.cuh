// wgmma of the parts' widths, for the emulator.
#pragma once

#include "device/matrix_descriptor.cuh"
#include "emulator/tensor_core.h"

template <int N>
DEVICE void wgmma_narrow(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate,
                         EMULATOR_SITE) {
    emulator::wgmma(acc, N, a, b, accumulate, where);
}
