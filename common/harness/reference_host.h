/* The product by its definition, on the CPU: slow, and the yardstick of the GPU reference. */
#ifndef GEMM_LADDER_HARNESS_REFERENCE_HOST_H
#define GEMM_LADDER_HARNESS_REFERENCE_HOST_H

#include <stddef.h>

#include "harness/number.h"

/* values[m][n] = sum over k of a[m][k] * b[n][k]; magnitudes[m][n] = sum of |a||b|. fp64 sums. */
void reference_host(enum number format, const void *a, const void *b, size_t m, size_t n, size_t k,
                    double *values, double *magnitudes);

#endif
