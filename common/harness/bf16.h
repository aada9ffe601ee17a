/* bf16: the upper half of an fp32. 1 sign, 8 exponent and 7 fraction bits. */
#ifndef GEMM_LADDER_HARNESS_BF16_H
#define GEMM_LADDER_HARNESS_BF16_H

#include <stdint.h>
#include <string.h>

#include "harness/host_device.h"

typedef uint16_t bf16_bits;

/* The same number as an fp32: exact, NaN and infinities included. */
HOST_DEVICE static inline float bf16_to_float(bf16_bits value) {
    const uint32_t bits = (uint32_t)value << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* Rounds to the nearest bf16, ties to even. A NaN stays a NaN (quiet, with its sign). */
HOST_DEVICE static inline bf16_bits bf16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (bf16_bits)((bits >> 16) | 0x0040u);
    }
    const uint32_t odd = (bits >> 16) & 1u;
    return (bf16_bits)((bits + 0x7fffu + odd) >> 16);
}

#endif
