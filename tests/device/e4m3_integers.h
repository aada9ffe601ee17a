/* A wgmma's sum of e4m3 products, term by term as the rule says it, in whole numbers that doubles
 * hold. It shares nothing with e4m3.h, from which the emulator and the reference of the rungs have
 * it: where both and a GPU agree, one is not merely compared with itself. C and C++. */
#pragma once

#include "formats/number.h"

enum { INTEGERS_K = 32, INTEGERS_BITS = 13, INTEGERS_NAN = 0x7fffffff };

/* An element's value. Its exponent, -126 for a zero, is added to `exponent`. */
static inline double integers_element(uint8_t bits, int *exponent) {
    const int field = bits >> 3 & 15, subnormal = field == 0;
    const double magnitude = ldexp((bits & 7) + 8 * !subnormal, field + subnormal - 10);
    *exponent += magnitude == 0 ? -126 : field + subnormal - 7;
    return bits & 0x80 ? -magnitude : magnitude;
}

/* The accumulator's bits after one wgmma, from those of 32 elements of A and of B, and its own. Not
 * for sums that are subnormal or overflow. */
static inline uint32_t integers_multiply_add(const uint8_t *a, const uint8_t *b, uint32_t addend) {
    const double own = (double)float_of_bits(addend);
    double terms[INTEGERS_K + 1] = {own}, sum = 0;
    int largest = fabs(own) < 0x1p-126 ? -126 : ilogb(own);
    bool is_nan = isnan(own);
    for (int i = 0; i < INTEGERS_K; ++i) {
        int exponent = 0;
        terms[i + 1] = integers_element(a[i], &exponent);
        terms[i + 1] *= integers_element(b[i], &exponent);
        largest = exponent > largest ? exponent : largest;
        is_nan = is_nan || (a[i] & 0x7f) == 0x7f || (b[i] & 0x7f) == 0x7f;
    }
    if (is_nan || isinf(own)) {
        return is_nan ? (uint32_t)INTEGERS_NAN : addend;
    }
    for (int i = 0; i <= INTEGERS_K; ++i) { /* each cut off where the largest has its last bit */
        sum += trunc(ldexp(terms[i], INTEGERS_BITS - largest));
    }
    int exponent; /* |sum| < 2^exponent */
    const double kept = trunc(ldexp(frexp(sum, &exponent), INTEGERS_BITS + 1));
    return bits_of_float((float)ldexp(kept, exponent - 1 - 2 * INTEGERS_BITS + largest));
}
