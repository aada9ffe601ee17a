/* Random operands, made where they are used. */
#ifndef GEMM_LADDER_HARNESS_OPERANDS_H
#define GEMM_LADDER_HARNESS_OPERANDS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/bf16.h"
#include "harness/random.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills count bf16 in device memory with random_operand(), rounded. integer_range counts for
 * INPUTS_INTEGERS alone. Returns 0, or non-zero after printing one line. */
int operands_fill(bf16_bits *to, size_t count, enum inputs inputs, int integer_range, uint64_t seed,
                  enum random_stream which, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
