// The emulator's ldmatrix: a collective of the warp's lanes; each gets its part of the matrices.
// Bank conflicts are counted.
#pragma once

#include "device/shared_memory.cuh"

#include "emulator/tensor_core.h"

// Four matrices.
DEVICE void ldmatrix_x4(uint32_t (&registers)[4], const void *row, EMULATOR_SITE) {
    emulator::ldmatrix(registers, 4, false, row, where);
}
