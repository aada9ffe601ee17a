/* The formats that the elements of a matrix have. Each of them is an fp32 without loss, but for
 * int32, whose words are moved and never calculated with as fp32. */
#ifndef GEMM_LADDER_HARNESS_NUMBER_H
#define GEMM_LADDER_HARNESS_NUMBER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/bf16.h"
#include "harness/fp16.h"
#include "harness/host_device.h"

enum number { NUMBER_BF16, NUMBER_FP16, NUMBER_FP32, NUMBER_INT32 };

/* Of one element. */
HOST_DEVICE static inline size_t number_bytes(enum number format) {
    return format == NUMBER_FP32 || format == NUMBER_INT32 ? sizeof(uint32_t) : sizeof(uint16_t);
}

/* Element i of a matrix. */
HOST_DEVICE static inline float number_read(enum number format, const void *matrix, size_t i) {
    if (format == NUMBER_FP32) {
        return ((const float *)matrix)[i];
    }
    if (format == NUMBER_INT32) {
        return (float)((const int32_t *)matrix)[i];
    }
    const uint16_t bits = ((const uint16_t *)matrix)[i];
    return format == NUMBER_FP16 ? fp16_to_float(bits) : bf16_to_float(bits);
}

/* Element i of a matrix becomes the value, rounded to the nearest. */
HOST_DEVICE static inline void number_write(enum number format, void *matrix, size_t i,
                                            float value) {
    if (format == NUMBER_FP32) {
        ((float *)matrix)[i] = value;
    } else if (format == NUMBER_INT32) {
        ((int32_t *)matrix)[i] = (int32_t)rintf(value);
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

#endif
