/* The product by its definition, on the CPU: slow, and the yardstick of the GPU reference. */
#ifndef GEMM_LADDER_HARNESS_REFERENCE_HOST_H
#define GEMM_LADDER_HARNESS_REFERENCE_HOST_H

#include <stddef.h>

#include "harness/bf16.h"

/* values[m][n] = sum over k of a[m][k] * b[n][k]; magnitudes[m][n] = sum of |a||b|. fp64 sums. */
void reference_host(const bf16_bits *a, const bf16_bits *b, size_t m, size_t n, size_t k,
                    double *values, double *magnitudes);

#endif
