/* Random operands, made where they are used. */
#ifndef GEMM_LADDER_HARNESS_OPERANDS_H
#define GEMM_LADDER_HARNESS_OPERANDS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/number.h"
#include "harness/random.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills count elements of that format in device memory with random_element(), rounded. Returns 0,
 * or non-zero after printing one line. */
int operands_fill(void *to, enum number format, size_t count, const recipe *recipe,
                  struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
