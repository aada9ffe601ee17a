/* Compares an output in device memory with the reference, and takes its digest. */
#ifndef GEMM_LADDER_HARNESS_CHECK_H
#define GEMM_LADDER_HARNESS_CHECK_H

#include "harness/compare.h"
#include "harness/reference.h"
#include "harness/verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* d is of the output's format and the reference's shape. Every element of the reference is
 * compared; with a sampled one the whole of d is searched for NaN and infinities as well.
 * CHECK_WORDS compares the bits, of a reference that has words; rounding is not looked at. Returns
 * 0 with the findings in verdict, or non-zero after printing one line if a call failed. */
int check_output(const void *d, const reference *reference, enum check_kind kind,
                 const rounding *rounding, struct CUstream_st *stream, verdict *verdict);

/* The digest (digest.h) of the count elements at d, in device memory. Returns 0, or non-zero after
 * printing one line if a call failed. */
int output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream,
                  uint64_t *digest);

#ifdef __cplusplus
}
#endif

#endif
