/* Whether one output element is right. The kernels and the unit tests use these same functions. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/number.h"

enum check_kind {
    CHECK_EXACT,   /* bit for bit; the reference is a number that fp32 holds */
    CHECK_BOUNDED, /* within the rounding bound of its own dot product */
    CHECK_WORDS    /* bit for bit, of words that were moved; see elements.h */
};

/* fp16 sums are rounded to fp16 once per this many products, or less often: tensor cores add up
 * those of one instruction (sm_80: of half of it) in a wider format. */
enum { FP16_SUM_GROUP = 8 };

/* What is rounded on the way to a correct output. */
typedef struct rounding {
    enum number output;
    double to_fp32; /* roundings to fp32 in one element: additions, and what C or scales need */
    int to_fp16;    /* roundings of the sum to fp16; 0 with fp32 sums */
    bool of_e4m3;   /* the tensor cores' sums are cut off ... */
    bool modelled;  /* ... just where the reference has it */
} rounding;

/* One element of the reference. */
typedef struct expected {
    double value;    /* the exact result */
    float magnitude; /* the sum of all |a||b|; with C: times |alpha|, and |beta||c| added */
    float partials;  /* the sum of |partial sum| after every FP16_SUM_GROUP products, in the order
                      * of k; unused with fp32 sums. Of e4m3 how much tensor cores may cut off */
    float modelled;  /* of e4m3: what tensor cores give that add as e4m3.h says */
} expected;

typedef struct comparison {
    bool right;
    double expected, allowed; /* an output is right if it is at most this far from that */
    double error_over_bound;  /* 0 for an exact match, infinite if nothing can pass */
} comparison;

/* How far rounding to the format may move a number of that size. bf16 numbers that are not normal
 * do not come up. */
HOST_DEVICE static inline double rounding_error(enum number format, double magnitude) {
    return format == NUMBER_BF16 ? 0x1p-8 * magnitude
           : format == NUMBER_FP16
               ? 0x1p-11 * magnitude + 0x1p-25   /* half of the step between subnormal numbers */
               : 0x1p-23 * magnitude + 0x1p-149; /* a step between subnormal numbers */
}

/* How far a correct output may be from the exact result.
 *
 * fp32 sums: their additions, in any order, are each off by at most 2^-23 of the sum of magnitudes
 * (2^-24 would do for rounding to nearest, but tensor cores may truncate).
 *
 * fp16 sums: on top of that, the i-th rounding to fp16 (to nearest) moves the partial sum p_i, with
 * the error e that it has by then, by 2^-11 (|p_i| + e) + 2^-25. So an error grows by 1 + 2^-11 in
 * each of the n roundings that are left: e <= (2^-11 * sum |p_i| + n 2^-25 + fp32's part) *
 * (1 + 2^-11)^n. This holds for sums in the order of k alone, which is how tensor cores are fed. A
 * bound for every order (k roundings of up to sum |a||b|) would let anything pass.
 *
 * e4m3: see e4m3_cuts in reference.h. A wgmma's sum is added in fp32 at most once.
 *
 * The output: rounding moves what is rounded, which may itself be off by sum_error. */
HOST_DEVICE static inline double error_bound(const rounding *rounding, const expected *expected) {
    double sum_error = rounding->to_fp32 * 0x1p-23 * (double)expected->magnitude;
    if (rounding->to_fp16 > 0) {
        sum_error += 0x1p-11 * (double)expected->partials + rounding->to_fp16 * 0x1p-25;
        sum_error *= exp(rounding->to_fp16 * 0x1p-11);
    }
    sum_error += rounding->of_e4m3 ? (double)expected->partials : 0;
    return rounding_error(rounding->output, fabs(expected->value) + sum_error) + sum_error;
}

/* expected: a number that reaches the final rounding without error. A zero passes with either
 * sign: a kernel that starts from the first product instead of from +0 may keep the -0 of 0 times
 * a negative number, and both are the same number. */
HOST_DEVICE static inline comparison compare_exact(const rounding *rounding, float output,
                                                   const expected *expected) {
    const float rounded = number_round(rounding->output, (float)expected->value);
    const bool right = number_is_finite(output) && output == rounded;
    comparison result = {right, (double)rounded, 0, right ? 0 : HUGE_VAL};
    return result;
}

/* A NaN or an infinity never passes, not even if the bound is itself infinite; nor does a sum of
 * e4m3 in a known order that is not the model's. */
HOST_DEVICE static inline comparison compare_bounded(const rounding *rounding, float output,
                                                     const expected *expected) {
    const double allowed = error_bound(rounding, expected);
    const double error = fabs((double)output - expected->value);
    const bool within = number_is_finite(output) && error <= allowed;
    const double share = error == 0 ? 0 : error / allowed;
    const float modelled = number_round(rounding->output, expected->modelled);
    comparison result = {within, expected->value, allowed, HUGE_VAL};
    if (number_is_finite(output) && share >= 0) {
        result.error_over_bound = share;
    }
    if (within && rounding->modelled && output != modelled) {
        result.right = false;
        result.expected = (double)modelled;
        result.allowed = 0;
    }
    return result;
}

/* Compares as the kind says; not for CHECK_WORDS, which compares no numbers. */
HOST_DEVICE static inline comparison compare(enum check_kind kind, const rounding *rounding,
                                             float output, const expected *expected) {
    return kind == CHECK_EXACT ? compare_exact(rounding, output, expected)
                               : compare_bounded(rounding, output, expected);
}
