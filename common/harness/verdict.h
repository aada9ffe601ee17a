/* What a check of one or several outputs found, and how it is said. */
#ifndef GEMM_LADDER_HARNESS_VERDICT_H
#define GEMM_LADDER_HARNESS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verdict {
    enum check_kind kind;
    uint64_t checked; /* elements compared with the reference */
    uint64_t wrong;
    double max_error_over_bound;
    uint64_t first_row, first_column; /* of the first wrong element, if wrong > 0 */
    double got, expected, allowed;    /* and its values; of CHECK_WORDS the bits as a number */
    uint64_t not_finite;              /* NaN or infinite elements of the whole output */
    uint64_t not_finite_row, not_finite_column;
} verdict;

/* True if something was checked and all of it was right. */
bool verdict_right(const verdict *verdict);

/* Adds the findings of one more output of the same kind. total starts as {.kind = ...}. */
void verdict_merge(verdict *total, const verdict *part);

/* "exact: 64 of 64 equal" or "exact: 3 of 64 differ; first at [1][2]: got 5, expected 6". The bits
 * of words are shown as "0x3f800000". */
void verdict_format(const verdict *verdict, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
