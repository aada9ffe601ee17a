/* The formats that the elements of a matrix have. Each converts to fp32 without loss, except int32,
 * whose words are moved and never used in arithmetic. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/e4m3.h"

/* Marks a small function that both the C harness and the kernels use. */
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

/* bf16: the upper half of an fp32. 1 sign, 8 exponent and 7 fraction bits. */
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

/* IEEE 754's binary16. 1 sign, 5 exponent and 10 fraction bits. */
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

enum number { NUMBER_BF16, NUMBER_FP16, NUMBER_FP32, NUMBER_INT32, NUMBER_E4M3 };

/* Of one element. */
HOST_DEVICE static inline size_t number_bytes(enum number format) {
    return format == NUMBER_E4M3                             ? sizeof(uint8_t)
           : format == NUMBER_FP32 || format == NUMBER_INT32 ? sizeof(uint32_t)
                                                             : sizeof(uint16_t);
}

/* Element i of a matrix. */
HOST_DEVICE static inline float number_read(enum number format, const void *matrix, size_t i) {
    if (format == NUMBER_FP32) {
        return ((const float *)matrix)[i];
    }
    if (format == NUMBER_INT32) {
        return (float)((const int32_t *)matrix)[i];
    }
    if (format == NUMBER_E4M3) {
        return e4m3_to_float(((const uint8_t *)matrix)[i]);
    }
    const uint16_t bits = ((const uint16_t *)matrix)[i];
    return format == NUMBER_FP16 ? fp16_to_float(bits) : bf16_to_float(bits);
}

/* Element i of a matrix becomes the value, rounded to the nearest; e4m3 saturates. */
HOST_DEVICE static inline void number_write(enum number format, void *matrix, size_t i,
                                            float value) {
    if (format == NUMBER_FP32) {
        ((float *)matrix)[i] = value;
    } else if (format == NUMBER_INT32) {
        ((int32_t *)matrix)[i] = (int32_t)rintf(value);
    } else if (format == NUMBER_E4M3) {
        ((uint8_t *)matrix)[i] = e4m3_from_float(value);
    } else {
        ((uint16_t *)matrix)[i] =
            format == NUMBER_FP16 ? fp16_from_float(value) : bf16_from_float(value);
    }
}

/* The nearest number of the format, ties to even. */
HOST_DEVICE static inline float number_round(enum number format, float value) {
    switch (format) {
    case NUMBER_BF16:
        return bf16_to_float(bf16_from_float(value));
    case NUMBER_FP16:
        return fp16_to_float(fp16_from_float(value));
    case NUMBER_INT32:
        return rintf(value);
    case NUMBER_E4M3:
        return e4m3_to_float(e4m3_from_float(value));
    case NUMBER_FP32:
        break;
    }
    return value;
}

/* Neither NaN nor infinite. */
HOST_DEVICE static inline bool number_is_finite(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7f800000u) != 0x7f800000u;
}
