/* The expected output in fp64, computed on the GPU by kernels of our own, or beside the emulator by
 * plain loops. They share nothing with any rung. */
#ifndef GEMM_LADDER_HARNESS_REFERENCE_H
#define GEMM_LADDER_HARNESS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/bf16.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reference {
    int m, n, k;
    size_t count;        /* elements: m * n, or SAMPLE_COUNT */
    double *values;      /* [count] in device memory: sum of a * b */
    float *magnitudes;   /* [count] in device memory: sum of |a||b|, rounded up */
    uint64_t *positions; /* [count] in device memory: row * n + column; NULL if all are there */
} reference;

/* Device memory that a reference takes; false if the number does not fit in a size_t. */
bool reference_bytes(int m, int n, bool sampled, size_t *bytes);

/* Allocates the reference of D [m][n], of all elements or of the sample (sample.h). Returns 0, or
 * non-zero after printing one line. reference_destroy() it in either case. */
int reference_create(reference *reference, int m, int n, int k, bool sampled);

/* Computes it from A [m][k] and B [n][k] in device memory; returns when it is done: 0, or non-zero
 * after printing one line. */
int reference_compute(reference *reference, const bf16_bits *a, const bf16_bits *b,
                      struct CUstream_st *stream);

/* Frees its memory. A reference that is all zero is nothing to free. */
void reference_destroy(reference *reference);

#ifdef __cplusplus
}
#endif

#endif
