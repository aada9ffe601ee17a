/* Whether an output is right: element by element, with functions that the kernels and the unit
 * tests share; and what a check of all of it has found. */
#pragma once

#include "harness/reference.h"

enum check_kind {
    CHECK_EXACT,   /* bit for bit; the reference is a number that fp32 holds */
    CHECK_BOUNDED, /* within the rounding bound of its own dot product */
    CHECK_WORDS    /* bit for bit, of words that were moved */
};

/* An output in device memory, and what it has to be. */
typedef struct examination {
    const void *d;
    reference reference;
    enum check_kind kind;
    bool own; /* it adds up as the step does; else its sums are fp32 or, of FP8, promoted at unknown
               * places */
} examination;

typedef struct comparison {
    bool right;
    double expected, allowed; /* an output is right if it is at most this far from that */
    double error_over_bound;  /* 0 for an exact match, infinite if nothing can pass */
} comparison;

/* How far rounding to the format may move a number of that size: the last terms are for subnormal
 * numbers, which do not come up in bf16. */
HOST_DEVICE static inline double rounding_error(enum number format, double magnitude) {
    return format == NUMBER_BF16   ? 0x1p-8 * magnitude
           : format == NUMBER_FP16 ? 0x1p-11 * magnitude + 0x1p-25
                                   : 0x1p-23 * magnitude + 0x1p-149;
}

/* How far a correct output may be from the exact result.
 *
 * fp32 sums: their additions, in any order, are each off by at most 2^-23 of the sum of magnitudes
 * (2^-24 would do for rounding to nearest, but tensor cores may truncate).
 *
 * fp16 sums: on top of that, the i-th rounding to fp16 moves the partial sum p_i, with the error e
 * that it has by then, by 2^-11 (|p_i| + e) + 2^-25. So an error grows by 1 + 2^-11 in each of the
 * n roundings: e <= (2^-11 * sum |p_i| + n 2^-25 + fp32's part) * (1 + 2^-11)^n. This holds in the
 * order of k alone, in which tensor cores are fed: a bound for all orders would let anything pass.
 *
 * e4m3: see e4m3_cuts in reference.h. A wgmma's sum is added in fp32 at most once. */
HOST_DEVICE static inline double error_bound(const examination *e, const expected *expected) {
    /* alpha's product with the sum, beta's with c, and the sum of the two; or those with scales. */
    enum { ROUNDINGS_WITH_C = 3 };
    enum { ROUNDINGS_WITH_SCALES = 2 };
    const arithmetic *is = &e->reference.arithmetic;
    const int k = e->reference.k;
    const double roundings = is->scaled ? (k + E4M3_K - 1) / E4M3_K + ROUNDINGS_WITH_SCALES
                                        : k + (is->takes_c ? (double)ROUNDINGS_WITH_C : 0);
    double sum_error = roundings * 0x1p-23 * (double)expected->magnitude;
    if (is->fp16_sums && e->own) {
        const int to_fp16 = (k + FP16_SUM_GROUP - 1) / FP16_SUM_GROUP;
        sum_error += 0x1p-11 * (double)expected->partials + to_fp16 * 0x1p-25;
        sum_error *= exp(to_fp16 * 0x1p-11);
    }
    sum_error += is->scaled ? (double)expected->partials : 0;
    return rounding_error(is->output, fabs(expected->value) + sum_error) + sum_error;
}

/* In the exact check a zero passes with either sign: a kernel that starts from the first product
 * instead of from +0 may keep the -0 of 0 times a negative number. A NaN or an infinity never
 * passes, not even if the bound is itself infinite; nor does a sum of e4m3 in a known order that is
 * not the model's. */
HOST_DEVICE static inline comparison compare(const examination *e, float output,
                                             const expected *expected) {
    const arithmetic *is = &e->reference.arithmetic;
    const bool finite = number_is_finite(output);
    if (e->kind == CHECK_EXACT) {
        const float rounded = number_round(is->output, (float)expected->value);
        const bool equal = finite && output == rounded;
        const comparison exact = {equal, (double)rounded, 0, equal ? 0 : HUGE_VAL};
        return exact;
    }
    const float modelled = number_round(is->output, expected->modelled);
    const double allowed = error_bound(e, expected);
    const double error = fabs((double)output - expected->value);
    const bool within = finite && error <= allowed;
    const double share = error == 0 ? 0 : error / allowed;
    const double over_bound = finite && share >= 0 ? share : HUGE_VAL;
    const comparison bounded = {within, expected->value, allowed, over_bound};
    const comparison unlike_model = {false, (double)modelled, 0, over_bound};
    return within && is->scaled && e->own && output != modelled ? unlike_model : bounded;
}

/* The share of element i of a matrix in its digest: of its bits, so that 0 and -0 differ. */
HOST_DEVICE static inline uint64_t digest_element(enum number format, const void *matrix,
                                                  size_t i) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const uint32_t word = number_bytes(format) == sizeof(uint32_t) ? ((const uint32_t *)matrix)[i]
                                                                   : ((const uint16_t *)matrix)[i];
    return random_mix(random_mix(golden * (i + 1)) ^ word);
}

/* The findings for one element, for a thread's elements, or for all. */
typedef struct findings {
    unsigned long long wrong;
    unsigned long long first; /* the lowest index of those; ~0 if there is none */
    unsigned long long digest;
    double max_ratio; /* of an error to its bound */
    double errors;    /* their squares, added up, and those of what is expected: of e4m3 alone */
    double values;
} findings;

#define NOTHING_FOUND                                                                              \
    { 0, ~0ULL, 0, 0, 0, 0 }

/* Adds what element i has. */
HOST_DEVICE static inline void check_element(const examination *e, size_t i, findings *found) {
    const arithmetic *is = &e->reference.arithmetic;
    bool right;
    found->digest += digest_element(is->output, e->d, i);
    if (e->kind == CHECK_WORDS) {
        right = ((const uint32_t *)e->d)[i] == e->reference.words[i];
    } else {
        const expected expected = e->reference.elements[i];
        const float output = number_read(is->output, e->d, i);
        const comparison result = compare(e, output, &expected);
        right = result.right;
        found->max_ratio = fmax(found->max_ratio, result.error_over_bound);
        if (is->scaled) {
            const double error = (double)output - expected.value;
            found->errors += error * error;
            found->values += expected.value * expected.value;
        }
    }
    if (!right && found->wrong++ == 0) {
        found->first = i; /* a thread with several elements begins with the lowest */
    }
}

/* What a check of one or several outputs found. */
typedef struct verdict {
    enum check_kind kind;
    uint64_t checked; /* elements compared with the reference */
    uint64_t wrong;
    double max_error_over_bound;
    double relative_error; /* of a reference with e4m3's sums: the root of the mean square of the
                            * errors, over that of what is expected; the largest of all outputs */
    uint64_t first_row, first_column; /* of the first wrong element, if wrong > 0 */
    double got, expected, allowed;    /* and its values; of CHECK_WORDS the bits as a number */
    uint64_t digest; /* of one output: two with the same have the same bits, with a chance of error
                      * of 2^-64. A sum, whose order does not matter, of digest_element() */
} verdict;

/* Compares every element. */
verdict check_output(const examination *examination, struct CUstream_st *stream);

/* True if something was checked and all of it was right. */
bool verdict_right(const verdict *verdict);

/* Adds the findings of one more output of the same kind. total starts as zeros. */
void verdict_merge(verdict *total, const verdict *part);

/* "exact: 64 of 64 equal" or "exact: 3 of 64 differ; first at [1][2]: got 5, expected 6". */
void verdict_format(const verdict *verdict, char *text, size_t size);

/* ---- what each machine has for all elements */

#ifdef __cplusplus
extern "C" {
#endif

/* operand_write(), in device memory. */
void operand_fill(const operand *operand, void *to, struct CUstream_st *stream);

/* Computes the reference from operands in device memory; returns when it is done. */
void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream);

/* check_element(). */
findings check_elements(const examination *examination, struct CUstream_st *stream);

/* Starts D = A + 1 by plain loads and stores, on a GPU. */
void elements_add_one(const problem *problem);

#ifdef __cplusplus
}
#endif
