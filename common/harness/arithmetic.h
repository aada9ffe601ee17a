/* What a step computes, in the terms that the rest of the harness needs. */
#ifndef GEMM_LADDER_HARNESS_ARITHMETIC_H
#define GEMM_LADDER_HARNESS_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compare.h"
#include "harness/number.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct arithmetic {
    const char *name;     /* "gemm_bf16"; NULL for what the harness does not know */
    const char *formats;  /* "bf16 in and out" */
    enum number operands; /* the format of A and B */
    enum number output;   /* of D, and of C */
    bool takes_c;         /* and with it alpha and beta */
    bool fp16_sums;       /* of the step; what it is compared with has fp32 sums */
    bool moves;           /* it reads and writes each 32-bit word once, and rounds nothing: there is
                           * neither B nor k, and the memory's speed is what counts */
    bool transposes;      /* D is [n][m]; only with moves */
} arithmetic;

/* Of the step. */
arithmetic arithmetic_of(const step *step);

/* Bytes that one launch of a computation that moves reads and writes. */
double arithmetic_moved_bytes(const arithmetic *arithmetic, int m, int n);

/* How a correct result may be rounded, with fp32 sums or with fp16 ones. */
rounding arithmetic_rounding(const arithmetic *arithmetic, int k, bool fp16_sums);

/* Integers for the exact check: with them nothing is rounded, whatever the order of summation,
 * before the output is. */
typedef struct integers {
    bool exact;  /* false if alpha and beta allow no such integers */
    int range;   /* A and B are whole numbers in [-range, range] */
    int spacing; /* in a row of A, of so many neighbours only one may be other than 0 */
    int c_range; /* C is whole numbers in [-c_range, c_range] */
} integers;

/* For sums of k products. The sum of |a||b| is at most
 *   2^24    where fp32 sums become bf16,
 *   65504   where fp32 sums become fp16: a larger one would be infinite,
 *   2048    with fp16 sums, which hold every whole number up to there.
 * The range is as large as that permits, at most 4. If even 1 is too much, A gets zeros between.
 *
 * With C, alpha * s, beta * c and their sum must be exact in fp32. That is so if alpha and beta are
 * multiples of 1/16 up to 16, and everything counted in sixteenths stays below 2^24. */
integers arithmetic_integers(const arithmetic *arithmetic, int64_t k, float alpha, float beta);

#ifdef __cplusplus
}
#endif

#endif
