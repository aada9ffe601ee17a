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

/* Element `index` of the matrix `to`: random_element(), rounded, or random bits. */
HOST_DEVICE static inline void operand_write(void *to, enum number format, const recipe *recipe,
                                             uint64_t index) {
    if (recipe->inputs != INPUTS_BITS) {
        number_write(format, to, index, random_element(recipe, index));
    } else {
        ((uint32_t *)to)[index] = format == NUMBER_INT32
                                      ? random_int32_bits(recipe->seed, recipe->stream, index)
                                      : random_fp32_bits(recipe->seed, recipe->stream, index);
    }
}

/* Fills count elements of that format in device memory with operand_write(). Returns 0, or non-zero
 * after printing one line. */
int operands_fill(void *to, enum number format, size_t count, const recipe *recipe,
                  struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
