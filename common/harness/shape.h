/* Which shapes a rung takes. */
#ifndef GEMM_LADDER_HARNESS_SHAPE_H
#define GEMM_LADDER_HARNESS_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "step.h"

enum { SHAPE_RULE_SIZE = 192 };

/* One sentence on what the rung takes: "m: multiples of 128, n: multiples of 256, ...", and no k if
 * there is none, which is k = 0 below. */
void shape_rule(const step *step, char *text, size_t size);

/* 0 if the rung takes the shape, or non-zero with one sentence in error. */
int shape_check(const step *step, int m, int n, int k, char *error, size_t size);

/* The smallest shape from (m, n, k) on that the rung takes, dimension by dimension. */
void shape_round_up(const step *step, int *m, int *n, int *k);

/* Floating-point operations of the product: 2mnk. */
double shape_flop(int m, int n, int k);

#endif
