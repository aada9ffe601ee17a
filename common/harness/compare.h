/* Is one bf16 output right? The kernels and the unit tests use these same functions. */
#ifndef GEMM_LADDER_HARNESS_COMPARE_H
#define GEMM_LADDER_HARNESS_COMPARE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/bf16.h"
#include "harness/host_device.h"

enum check_kind {
    CHECK_EXACT,  /* bit for bit; the reference is a whole number that fp32 holds */
    CHECK_BOUNDED /* within the rounding bound of its own dot product */
};

typedef struct comparison {
    bool right;
    double allowed;          /* the largest |output - reference| that passes */
    double error_over_bound; /* 0 for an exact match, infinite if nothing can pass */
} comparison;

/* How far a correct output may be from the exact dot product of length k.
 *
 * The sum: k additions in fp32, in any order, each off by at most 2^-23 of the sum of magnitudes
 * (2^-24 would do for rounding to nearest, but tensor cores may truncate): together sum_error.
 * The output: rounding to bf16, which has 8 significant bits, adds at most 2^-8 of the value that
 * is rounded, and that value may itself be off by sum_error. */
HOST_DEVICE static inline double error_bound(double reference, float magnitude, int k) {
    const double sum_error = (double)k * 0x1p-23 * (double)magnitude;
    return 0x1p-8 * (fabs(reference) + sum_error) + sum_error;
}

/* reference: the dot product; magnitude: the sum of |a||b|. A NaN or an infinity never passes,
 * not even if the bound is itself infinite. */
HOST_DEVICE static inline comparison compare_bounded(bf16_bits output, double reference,
                                                     float magnitude, int k) {
    comparison result;
    const double error = fabs((double)bf16_to_float(output) - reference);
    result.allowed = error_bound(reference, magnitude, k);
    result.right = bf16_is_finite(output) && error <= result.allowed;
    result.error_over_bound = error == 0 ? 0 : error / result.allowed;
    if (!bf16_is_finite(output) || !(result.error_over_bound >= 0)) {
        result.error_over_bound = HUGE_VAL;
    }
    return result;
}

/* reference: a whole number of at most 2^24, so that it reaches the final rounding without error.
 * A zero passes with either sign: a kernel that starts from the first product instead of from +0
 * may keep the -0 of 0 times a negative number, and both are the same number. */
HOST_DEVICE static inline comparison compare_exact(bf16_bits output, double reference) {
    comparison result;
    const bf16_bits expected = bf16_from_float((float)reference);
    const bool both_zero = ((output | expected) & 0x7fffu) == 0;
    result.right = bf16_is_finite(output) && (output == expected || both_zero);
    result.allowed = 0;
    result.error_over_bound = result.right ? 0 : HUGE_VAL;
    return result;
}

#endif
