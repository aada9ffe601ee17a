// The emulator's ldmatrix: a collective of the warp's lanes; each gets its part of the matrices.
// Bank conflicts are counted.
#pragma once

#include "device/shared_memory.cuh"

#include "emulator/tensor_core.h"

// One, two and four matrices.
DEVICE void ldmatrix_x1(uint32_t (&registers)[1], const void *row, EMULATOR_SITE) {
    emulator::ldmatrix(registers, 1, false, row, where);
}
DEVICE void ldmatrix_x2(uint32_t (&registers)[2], const void *row, EMULATOR_SITE) {
    emulator::ldmatrix(registers, 2, false, row, where);
}
DEVICE void ldmatrix_x4(uint32_t (&registers)[4], const void *row, EMULATOR_SITE) {
    emulator::ldmatrix(registers, 4, false, row, where);
}

// Four, transposed.
DEVICE void ldmatrix_x4_trans(uint32_t (&registers)[4], const void *row, EMULATOR_SITE) {
    emulator::ldmatrix(registers, 4, true, row, where);
}
