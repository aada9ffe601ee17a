/* Compares an output in device memory with the reference, takes its digest, and says what it found.
 */
#pragma once

#include "harness/reference.h"

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
    uint64_t digest;                  /* of one output: see output_digest() */
} verdict;

/* True if something was checked and all of it was right. */
bool verdict_right(const verdict *verdict);

/* Adds the findings of one more output of the same kind. total starts as zeros. */
void verdict_merge(verdict *total, const verdict *part);

/* "exact: 64 of 64 equal" or "exact: 3 of 64 differ; first at [1][2]: got 5, expected 6". The bits
 * of words are shown as "0x3f800000". */
void verdict_format(const verdict *verdict, char *text, size_t size);

/* d is of the output's format and the reference's shape. Every element is compared. */
verdict check_output(const void *d, const reference *reference, enum check_kind kind,
                     const rounding *rounding, struct CUstream_st *stream);

/* One number for all bits of the count elements at d, in device memory: two outputs with the same
 * digest are the same, with a chance of error of 2^-64. It is a sum over the elements, so that the
 * order in which they are read does not matter; an element's term depends on its bits and its
 * place. */
uint64_t output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream);
