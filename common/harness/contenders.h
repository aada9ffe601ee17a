/* Who computes beside whom, by role. */
#ifndef GEMM_LADDER_HARNESS_CONTENDERS_H
#define GEMM_LADDER_HARNESS_CONTENDERS_H

#include <stdbool.h>

/* The step and its second opinion are always there. Beside a step with fp16 sums there is cuBLAS
 * with such sums, beside one that moves words a plain copy of A; if it is asked for, one of the
 * algorithms that cuBLASLt has for a product. A step that can launch early does so as a contender
 * of its own. */
enum contender_role {
    CONTENDER_STEP,
    CONTENDER_OTHER,
    CONTENDER_FP16_SUMS,
    CONTENDER_COPY,
    CONTENDER_HEURISTIC,
    CONTENDER_EARLY,
    CONTENDERS
};

/* Some of them: bit i is contender i. */
typedef unsigned contender_set;
enum { STEP_AND_OTHER = 1 << CONTENDER_STEP | 1 << CONTENDER_OTHER };

/* True if it is one of the set. */
static inline bool has_contender(contender_set set, int contender) {
    return (set >> contender & 1) != 0;
}

#endif
