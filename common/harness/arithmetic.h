/* What a step computes, in the terms that the rest of the harness needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compare.h"
#include "formats/number.h"
#include "harness/operands.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a contender of a run is. The step and its second opinion are always there. A step with fp16
 * sums is also compared with cuBLAS with such sums, one of FP8 with cuBLASLt's fast accumulation,
 * one that moves words with a plain copy of A; on request a product is compared with one of
 * cuBLASLt's algorithms. A step that can launch early, and on request each kernel of a step that
 * chooses, is a contender of its own. */
enum contender_role {
    CONTENDER_STEP,
    CONTENDER_EARLY,
    CONTENDER_KERNEL,
    CONTENDER_OTHER,
    CONTENDER_NARROW_SUMS,
    CONTENDER_COPY,
    CONTENDER_HEURISTIC
};

/* Whether this contender is the step itself. */
static inline bool is_step(enum contender_role role) { return role <= CONTENDER_KERNEL; }

/* Something that the step is compared with. */
typedef struct rival {
    enum contender_role role;
    const char *label; /* of its printed line */
    const char *key;   /* in a row */
    const char *title; /* in a sentence; NULL ends a list */
} rival;

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
    const rival *rivals;  /* on a GPU, in the order in which they are timed and reported */
} arithmetic;

/* Of the step. */
arithmetic arithmetic_of(const step *step);

/* What one launch does: floating-point operations, 2mnk; or bytes read and written, where words are
 * moved. */
double arithmetic_work(const arithmetic *arithmetic, int m, int n, int k);

/* The inputs of the exact check, and how outputs are compared on these or on any. */
enum inputs arithmetic_exact_inputs(const arithmetic *arithmetic);
enum check_kind arithmetic_check(const arithmetic *arithmetic, bool on_exact_inputs);

/* How a correct result may be rounded: the step's own, or that of what it is compared with, whose
 * sums are fp32 or, of FP8, promoted at unknown places. */
rounding arithmetic_rounding(const arithmetic *arithmetic, int k, bool own);

/* Columns of B's block scales. */
HOST_DEVICE static inline size_t scale_columns(int k) {
    return ((size_t)k + 4 * SCALE_BLOCK - 1) / (4 * SCALE_BLOCK) * 4;
}

/* How many scales A and B have. */
size_t arithmetic_scales_of_a(const arithmetic *arithmetic, int m, int k);
size_t arithmetic_scales_of_b(const arithmetic *arithmetic, int n, int k);

/* Integers for the exact check: with them nothing is rounded, whatever the order of summation,
 * before the output is. */
typedef struct integers {
    bool exact;  /* false if alpha and beta allow no such integers */
    int range;   /* A and B are whole numbers in [-range, range] */
    int spacing; /* in a row of A, of this many neighbours only one may differ from 0 */
    int c_range; /* C is whole numbers in [-c_range, c_range] */
} integers;

/* For sums of k products. The sum of |a||b| is at most
 *   2^24    where fp32 sums become bf16,
 *   65504   where fp32 sums become fp16: a larger one would be infinite,
 *   2048    with fp16 sums, which hold every whole number up to there,
 *   16384   with those of e4m3: the same. So k may be 16384 before A gets zeros.
 * The range is as large as that permits, at most 4. If even 1 is too much, A gets zeros between.
 *
 * With C, alpha * s, beta * c and their sum must be exact in fp32. That is so if alpha and beta are
 * multiples of 1/16 up to 16, and everything counted in sixteenths stays below 2^24. */
integers arithmetic_integers(const arithmetic *arithmetic, int64_t k, float alpha, float beta);

/* ---- which shapes it takes */

enum { SHAPE_RULE_SIZE = 192 };

/* One sentence on the shapes that the rung takes: "m: multiples of 128, n: multiples of 256, ...";
 * without k if the computation has none (k = 0 below). */
void shape_rule(const step *step, char *text, size_t size);

/* 0 if the rung takes the shape, or non-zero with one sentence in error. */
int shape_check(const step *step, int m, int n, int k, char *error, size_t size);

/* The smallest shape from (m, n, k) on that the rung takes, dimension by dimension. */
void shape_round_up(const step *step, int *m, int *n, int *k);

#ifdef __cplusplus
}
#endif
