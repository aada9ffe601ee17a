/* The formats that the elements of a matrix have. Each converts to fp32 without loss, except int32,
 * whose words are moved and never used in arithmetic. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/e4m3.h"

/* What cvt makes of any NaN, in bf16 and in fp16. */
#define NARROW_NAN 0x7fffu

/* bits / 2^shift to the nearest, ties to even; shift from 1 to 31. Here and below nothing branches:
 * the compiler converts several numbers at once. */
HOST_DEVICE static inline uint32_t shift_rounded(uint32_t bits, uint32_t shift) {
    return (bits + ((1u << (shift - 1)) - 1u) + ((bits >> shift) & 1u)) >> shift;
}

/* bf16: the upper half of an fp32. 1 sign, 8 exponent and 7 fraction bits. */
typedef uint16_t bf16_bits;

/* The same number as an fp32: exact, NaN and infinities included. */
HOST_DEVICE static inline float bf16_to_float(bf16_bits value) {
    return float_of_bits((uint32_t)value << 16);
}

/* Rounds to the nearest bf16, ties to even. NaNs become the one that cvt makes of any. */
HOST_DEVICE static inline bf16_bits bf16_from_float(float value) {
    const uint32_t bits = bits_of_float(value);
    return (bf16_bits)((bits & 0x7fffffffu) > 0x7f800000u ? NARROW_NAN : shift_rounded(bits, 16));
}

/* IEEE 754's binary16. 1 sign, 5 exponent and 10 fraction bits. */
typedef uint16_t fp16_bits;

/* The same number as an fp32: exact, NaN and infinities included. */
HOST_DEVICE static inline float fp16_to_float(fp16_bits value) {
    const uint32_t sign = (uint32_t)(value & 0x8000u) << 16;
    const uint32_t magnitude = value & 0x7fffu;
    /* The difference of the exponents' biases, by a factor: right for zero and small numbers too.
     */
    const uint32_t finite = bits_of_float(float_of_bits(magnitude << 13) * 0x1p112f);
    return float_of_bits(sign | (magnitude >= 0x7c00u ? 0x7f800000u | magnitude << 13 : finite));
}

/* Rounds to the nearest fp16, ties to even; from 65520 on to infinity. NaNs become the one that cvt
 * makes of any. */
HOST_DEVICE static inline fp16_bits fp16_from_float(float value) {
    const uint32_t bits = bits_of_float(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    /* A carry out of the fraction raises the exponent: right. */
    const uint32_t normal = shift_rounded(magnitude - (112u << 23), 13);
    /* fp32 numbers from 0.5 to 1 are multiples of 2^-24, as are fp16 numbers below the smallest
     * normal one. */
    const uint32_t small = bits_of_float(float_of_bits(magnitude) + 0.5f) - bits_of_float(0.5f);
    const uint32_t finite = magnitude < 0x38800000u ? small : normal;
    const uint32_t rounded = sign | (magnitude >= 0x477ff000u ? 0x7c00u : finite);
    return (fp16_bits)(magnitude > 0x7f800000u ? NARROW_NAN : rounded);
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
    uint32_t bits; /* as wide as any format */
    number_write(format, &bits, 0, value);
    return number_read(format, &bits, 0);
}

/* Neither NaN nor infinite. */
HOST_DEVICE static inline bool number_is_finite(float value) {
    return (bits_of_float(value) & 0x7f800000u) != 0x7f800000u;
}
