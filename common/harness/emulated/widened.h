/* A matrix in fp32, so that a loop over its elements has no format to look at. */
#ifndef GEMM_LADDER_HARNESS_EMULATED_WIDENED_H
#define GEMM_LADDER_HARNESS_EMULATED_WIDENED_H

#include <stddef.h>

#include "harness/number.h"

/* A copy of `rows` rows of `columns` elements, which the caller frees. NULL after printing one line
 * if there is no memory. */
float *widened(enum number format, const void *matrix, int rows, int columns);

#endif
