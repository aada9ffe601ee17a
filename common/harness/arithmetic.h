/* What a step computes, in the terms that the rest of the harness needs, and for which shapes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/number.h"
#include "step.h"

typedef struct arithmetic {
    const char *name;     /* "gemm_bf16"; NULL for what the harness does not know */
    const char *formats;  /* "bf16 in and out" */
    enum number operands; /* the format of A and B */
    enum number output;   /* of D, and of C */
    bool takes_c;         /* and with it alpha and beta */
    bool fp16_sums;       /* of the step; what it is compared with has fp32 sums */
    bool scaled;          /* A and B have scales, and sums are those of e4m3.h */
    bool block_scales;    /* of the step, as in step.h; only with scaled */
    int promotion;        /* the same */
    bool moves;           /* it reads and writes each 32-bit word once, and rounds nothing: there is
                           * neither B nor k, and the memory's speed is what counts */
    bool transposes;      /* D is [n][m]; only with moves */
} arithmetic;

/* Of the step. */
arithmetic arithmetic_of(const step *step);

/* What one launch does: floating-point operations, 2mnk; or bytes read and written, where words are
 * moved. */
double arithmetic_work(const arithmetic *arithmetic, int m, int n, int k);

/* Integers for the exact check: with them nothing is rounded, whatever the order of summation,
 * before the output is. C is whole numbers in [-LARGEST_INTEGER, LARGEST_INTEGER]. */
enum { LARGEST_INTEGER = 4 };
typedef struct integers {
    bool exact;  /* false if alpha and beta allow no such integers */
    int range;   /* A and B are whole numbers in [-range, range]; at most LARGEST_INTEGER */
    int spacing; /* in a row of A, of this many neighbours only one may differ from 0 */
} integers;

/* For sums of k products. The range is as large as the sum of |a||b| permits; if even 1 is too
 * much, A gets zeros between. With C, alpha * s, beta * c and their sum must be exact in fp32: they
 * are if alpha and beta are multiples of 1/16 up to 16, and all sixteenths stay below 2^24. */
integers arithmetic_integers(const arithmetic *arithmetic, int64_t k, float alpha, float beta);

enum { SHAPE_RULE_SIZE = 192 };

/* One sentence on the shapes that the rung takes: "m: multiples of 128, n: multiples of 256, ...";
 * without k if the computation has none (k = 0 below). */
void shape_rule(const step *step, char *text, size_t size);

/* 0 if the rung takes the shape, or non-zero with one sentence in error. */
int shape_check(const step *step, int m, int n, int k, char *error, size_t size);

/* The smallest shape from (m, n, k) on that the rung takes, dimension by dimension. */
void shape_round_up(const step *step, int *m, int *n, int *k);
