// The emulator's mma.sync: a collective of the warp's lanes; each gets its part of the sum.
#pragma once

#include "device/base.cuh"

#include "emulator/tensor_core.h"

// m16n8k16.row.col.f32.f16.f16.f32.
DEVICE void mma_m16n8k16_f16_f32(float (&acc)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                 EMULATOR_SITE) {
    emulator::mma_m16n8k16(acc, a, b, acc, where);
}

// m16n8k16.row.col.f16.f16.f16.f16.
DEVICE void mma_m16n8k16_f16_f16(uint32_t (&acc)[2], const uint32_t (&a)[4], const uint32_t (&b)[2],
                                 EMULATOR_SITE) {
    emulator::mma_m16n8k16(acc, a, b, acc, where);
}
