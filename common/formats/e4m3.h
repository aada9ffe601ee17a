/* e4m3, and what Hopper's wgmma makes of its products; C and C++, for the host and for kernels.
 *
 * e4m3 has 1 sign, 4 exponent (bias 7) and 3 fraction bits, numbers up to 448, no infinities, and
 * NaN for S.1111.111. (PTX ISA: Alternate Floating-Point Data Formats.)
 *
 * wgmma.m64nNk32.f32.e4m3.e4m3 does not add in fp32. An element's 32 products and the addend, its
 * accumulator, are aligned to the largest exponent among them, cut off after 13 fraction bits,
 * added exactly, and the sum is again cut off after 13 fraction bits: no rounding, always towards
 * zero. (Xie, Wang, Yang, Yang, "MMA-Sim", arXiv 2511.10909: 32 terms and 13 bits on Hopper.
 * Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004: the method.)
 * All 1024 sums that were recorded on an H200 have these bits: tests/device/test_e4m3.cu.
 *
 * Left open, since sums of e4m3 products don't get there: addends below 2^-104, where the exponent
 * of a product with a zero may count; results that are subnormal, or overflow. There this is
 * MMA-Sim's rule. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Marks a small function that both the C harness and the kernels use. */
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

/* The bits of an fp32, and an fp32 of these bits. */
HOST_DEVICE static inline uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
HOST_DEVICE static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum {
    E4M3_K = 32,        /* products of one wgmma */
    E4M3_SUM_BITS = 13, /* fraction bits that its sums keep */
    E4M3_SMALLEST = -6, /* exponent of subnormal numbers, and of the smallest normal ones */
    E4M3_ZERO = -126,   /* exponent that counts for a zero */
    E4M3_LARGEST = 448,
    E4M3_INTEGERS = 1 << (E4M3_SUM_BITS + 1) /* a sum holds every whole number up to this one */
};

/* Exact. */
HOST_DEVICE static inline float e4m3_to_float(uint8_t bits) {
    /* Put where fp32 has exponent and fraction, it is too small by the difference of the biases. */
    const float magnitude = float_of_bits((uint32_t)(bits & 0x7f) << 20) * 0x1p120f;
    const uint32_t nan = (bits & 0x7f) == 0x7f ? 0x7fc00000 : 0;
    return float_of_bits(bits_of_float(magnitude) | (uint32_t)(bits & 0x80) << 24 | nan);
}

/* To the nearest, ties to even; magnitudes above 448 become 448, as cvt.satfinite makes them. A NaN
 * stays a NaN, without its sign. (PTX ISA: cvt.rn.satfinite.e4m3x2.f32.) */
HOST_DEVICE static inline uint8_t e4m3_from_float(float value) {
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    const float magnitude = fabsf(value);
    if (!(magnitude == magnitude)) {
        return 0x7f;
    }
    if (magnitude >= (float)E4M3_LARGEST) {
        return (uint8_t)(sign | 0x7e);
    }
    int exponent = E4M3_SMALLEST;
    if (magnitude >= 0x1p-6f) {
        (void)frexpf(magnitude, &exponent); /* magnitude < 2^exponent */
        --exponent;
    }
    const int eighths = (int)rintf(ldexpf(magnitude, 3 - exponent)); /* 0 to 16 */
    /* A carry out of the fraction raises the exponent: right. */
    return (uint8_t)(sign | (eighths + (exponent - E4M3_SMALLEST) * 8));
}

/* The exponent that counts where terms are aligned: a subnormal number's is -6. */
HOST_DEVICE static inline int e4m3_exponent(uint8_t bits) {
    const int exponent = bits >> 3 & 15;
    return (bits & 0x7f) == 0 ? E4M3_ZERO : exponent == 0 ? E4M3_SMALLEST : exponent - 7;
}

/* 32 elements of a row of A or of B. */
typedef struct e4m3_group {
    float value[E4M3_K];
    int16_t exponent[E4M3_K];
    bool has_nan;
} e4m3_group;

/* From 32 bytes. */
HOST_DEVICE static inline void e4m3_read(e4m3_group *group, const uint8_t *bits) {
    group->has_nan = false;
    for (int i = 0; i < E4M3_K; ++i) {
        group->value[i] = e4m3_to_float(bits[i]);
        group->exponent[i] = (int16_t)e4m3_exponent(bits[i]);
        group->has_nan = group->has_nan || (bits[i] & 0x7f) == 0x7f;
    }
}

/* 2^exponent, for exponents of normal numbers. */
HOST_DEVICE static inline double e4m3_power_of_2(int exponent) {
    const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* The accumulator after one wgmma: addend + a[0] b[0] + ... + a[31] b[31], as it adds. */
HOST_DEVICE static inline float e4m3_multiply_add(const e4m3_group *a, const e4m3_group *b,
                                                  float addend) {
    const int field = (int)(bits_of_float(addend) >> 23 & 255);
    if (a->has_nan || b->has_nan || !(addend == addend)) {
        return float_of_bits(0x7fffffff); /* the NaN that tensor cores write */
    }
    if (field == 255) {
        return addend;
    }
    int16_t largest = (int16_t)(field == 0 ? -126 : field - 127);
    for (int i = 0; i < E4M3_K; ++i) {
        const int16_t exponent = (int16_t)(a->exponent[i] + b->exponent[i]);
        largest = exponent > largest ? exponent : largest;
    }
    /* In units of the last place that is kept; a conversion to int cuts off. Every product but zero
     * is at least 2^-18: if `largest` is less than that, all are zero, whatever they are scaled by.
     */
    const int places = E4M3_SUM_BITS - largest;
    const float scale = (float)e4m3_power_of_2(places < 100 ? places : 100);
    int32_t sum = (int32_t)((double)addend * e4m3_power_of_2(places));
    for (int i = 0; i < E4M3_K; ++i) {
        sum += (int32_t)(a->value[i] * b->value[i] * scale);
    }
    /* |sum| < 2^21: exact in fp32, where the fraction's lower bits are cut off. */
    const uint32_t lower = (UINT32_C(1) << (23 - E4M3_SUM_BITS)) - 1;
    const float kept = float_of_bits(bits_of_float((float)sum) & ~lower);
    const double result = (double)kept * e4m3_power_of_2(-places);
    return (float)(fabs(result) < 0x1p-126 ? trunc(result * 0x1p139) * 0x1p-139 : result);
}
