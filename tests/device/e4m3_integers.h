/* A wgmma's sum of e4m3 products, by whole numbers alone. It shares nothing with e4m3.h, from which
 * the emulator and the reference of the rungs have it: where both and a GPU agree, one is not
 * merely compared with itself. C and C++. */
#pragma once

#include <stdint.h>

enum { INTEGERS_K = 32, INTEGERS_BITS = 13, INTEGERS_NAN = 0x7fffffff };

/* significand * 2^power, a magnitude, in units of 2^unit, cut off. */
static inline int64_t integers_cut(int64_t significand, int power, int unit) {
    const int shift = power - unit;
    return shift >= 0 ? significand << shift : shift > -63 ? significand >> -shift : 0;
}

/* The accumulator's bits after one wgmma, from those of 32 elements of A and of B, and its own. Not
 * for sums that are subnormal or overflow. */
static inline uint32_t integers_multiply_add(const uint8_t *a, const uint8_t *b, uint32_t addend) {
    const int field = (int)(addend >> 23 & 255);
    const int addend_exponent = field == 0 ? -126 : field - 127;
    const int64_t addend_significand = (addend & 0x7fffff) | (field == 0 ? 0 : 0x800000);
    int64_t product[INTEGERS_K];
    int power[INTEGERS_K]; /* of the product's last bit: 2^-9 is that of a subnormal element */
    int largest = addend_exponent;
    int is_nan = field == 255 && (addend & 0x7fffff) != 0;
    for (int i = 0; i < INTEGERS_K; ++i) {
        const uint8_t factors[2] = {a[i], b[i]};
        int leading = 0; /* the product's exponent; a zero counts with -126 */
        product[i] = 1;
        power[i] = 0;
        for (int j = 0; j < 2; ++j) {
            const int exponent = factors[j] >> 3 & 15;
            const int64_t significand = (factors[j] & 7) + (exponent == 0 ? 0 : 8);
            is_nan = is_nan || (factors[j] & 0x7f) == 0x7f;
            leading += significand == 0 ? -126 : exponent == 0 ? -6 : exponent - 7;
            power[i] += exponent == 0 ? -9 : exponent - 10;
            product[i] *= significand;
        }
        largest = leading > largest ? leading : largest;
    }
    if (is_nan) {
        return INTEGERS_NAN;
    }
    if (field == 255) {
        return addend;
    }
    const int unit = largest - INTEGERS_BITS;
    int64_t sum = integers_cut(addend_significand, addend_exponent - 23, unit);
    sum = addend >> 31 ? -sum : sum;
    for (int i = 0; i < INTEGERS_K; ++i) {
        const int64_t term = product[i] == 0 ? 0 : integers_cut(product[i], power[i], unit);
        sum += (a[i] ^ b[i]) & 0x80 ? -term : term;
    }
    if (sum == 0) {
        return 0;
    }
    uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
    int exponent = unit + 23; /* with 24 bits of magnitude */
    while (magnitude < 0x800000) {
        magnitude <<= 1;
        --exponent;
    }
    const uint32_t kept = (uint32_t)magnitude & ~((1U << (23 - INTEGERS_BITS)) - 1);
    return (sum < 0 ? 0x80000000U : 0) | (uint32_t)(exponent + 127) << 23 | (kept & 0x7fffff);
}
