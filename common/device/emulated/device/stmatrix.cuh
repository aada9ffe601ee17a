// The emulator's stmatrix: a collective of the warp's lanes; the generic proxy writes the rows.
// Bank conflicts are counted.
#pragma once

#include "device/shared_memory.cuh"
#include "device/vector.cuh"

#include "emulator/tensor_core.h"

// stmatrix.m8n8.x4.
DEVICE void stmatrix_x4(bf16 *row, const float *values, EMULATOR_SITE) {
    const uint32_t registers[4] = {pack_bf16(values[0], values[1]), pack_bf16(values[2], values[3]),
                                   pack_bf16(values[4], values[5]),
                                   pack_bf16(values[6], values[7])};
    emulator::stmatrix(row, registers, 4, false, where);
}

// stmatrix.m8n8.x2.
DEVICE void stmatrix_x2(bf16 *row, const float *values, EMULATOR_SITE) {
    const uint32_t registers[2] = {pack_bf16(values[0], values[1]),
                                   pack_bf16(values[2], values[3])};
    emulator::stmatrix(row, registers, 2, false, where);
}

// stmatrix.m8n8.x4.trans.
DEVICE void stmatrix_x4_transposed(bf16 *row, const float *values, EMULATOR_SITE) {
    const uint32_t registers[4] = {pack_bf16(values[0], values[1]), pack_bf16(values[2], values[3]),
                                   pack_bf16(values[4], values[5]),
                                   pack_bf16(values[6], values[7])};
    emulator::stmatrix(row, registers, 4, true, where);
}

// stmatrix.m8n8.x2.trans.
DEVICE void stmatrix_x2_transposed(bf16 *row, const float *values, EMULATOR_SITE) {
    const uint32_t registers[2] = {pack_bf16(values[0], values[1]),
                                   pack_bf16(values[2], values[3])};
    emulator::stmatrix(row, registers, 2, true, where);
}
