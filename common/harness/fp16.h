/* fp16, IEEE 754's binary16. 1 sign, 5 exponent and 10 fraction bits. */
#ifndef GEMM_LADDER_HARNESS_FP16_H
#define GEMM_LADDER_HARNESS_FP16_H

#include <stdint.h>
#include <string.h>

#include "harness/host_device.h"

typedef uint16_t fp16_bits;

/* The same number as an fp32: exact, NaN and infinities included. */
HOST_DEVICE static inline float fp16_to_float(fp16_bits value) {
    const uint32_t sign = (uint32_t)(value & 0x8000u) << 16;
    const uint32_t magnitude = value & 0x7fffu;
    uint32_t bits;
    float result;
    if (magnitude >= 0x7c00u) {
        bits = 0x7f800000u | (magnitude & 0x3ffu) << 13;
    } else if (magnitude >= 0x0400u) {
        bits = (magnitude << 13) + ((127u - 15u) << 23);
    } else {
        result = (float)magnitude * 0x1p-24f; /* zero, or subnormal */
        memcpy(&bits, &result, sizeof bits);
    }
    bits |= sign;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* bits / 2^shift to the nearest, ties to even; shift from 1 to 31. */
HOST_DEVICE static inline uint32_t fp16_shift_rounded(uint32_t bits, uint32_t shift) {
    const uint32_t odd = (bits >> shift) & 1u;
    return (bits + ((1u << (shift - 1)) - 1u) + odd) >> shift;
}

/* Rounds to the nearest fp16, ties to even; from 65520 on to infinity. A NaN stays a NaN (quiet,
 * with its sign). */
HOST_DEVICE static inline fp16_bits fp16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (fp16_bits)(sign | 0x7e00u);
    }
    if (magnitude >= 0x477ff000u) {
        return (fp16_bits)(sign | 0x7c00u);
    }
    if (magnitude >= 0x38800000u) { /* normal; a carry out of the fraction raises the exponent */
        return (fp16_bits)(sign | fp16_shift_rounded(magnitude - ((127u - 15u) << 23), 13));
    }
    const uint32_t shift = 126u - (magnitude >> 23); /* to multiples of 2^-24 */
    if (shift > 25u) {
        return (fp16_bits)sign;
    }
    return (fp16_bits)(sign | fp16_shift_rounded((magnitude & 0x7fffffu) | 0x800000u, shift));
}

#endif
