/* Products by cuBLASLt, which, unlike cuBLAS, can be asked for several algorithms and told which of
 * them to use; and D = alpha * A * B^T + beta * C, where cuBLAS itself would overwrite C. */
#ifndef GEMM_LADDER_HARNESS_LT_MATMUL_H
#define GEMM_LADDER_HARNESS_LT_MATMUL_H

#include <cublas_v2.h>
#include <stddef.h>

#include "harness/heuristics.h"
#include "step.h"

typedef struct lt_matmul lt_matmul;

/* NULL after printing one line if it cannot be started. The computation is a product or ADDMM. */
lt_matmul *lt_matmul_open(enum computation computes, struct CUstream_st *stream);
void lt_matmul_close(lt_matmul *matmul);

/* How many algorithms, of MOST_HEURISTICS asked for, cuBLASLt has for this shape, the one it deems
 * best first. Sums and partial sums stay in fp32. */
cublasStatus_t lt_matmul_count(lt_matmul *matmul, const problem *problem, int *count);

/* Looks for other configurations of what lt_matmul_count() has found: every tile, cluster shape and
 * custom option, without a split of k. Those that take the shape are numbered on from there: *count
 * is how many there are now in all. Takes seconds, a limited number of them. (cuBLAS documentation:
 * cublasLtMatmulAlgoCapGetAttribute, cublasLtMatmulAlgoCheck.) */
cublasStatus_t lt_matmul_enumerate(lt_matmul *matmul, const problem *problem, int *count);

/* Chooses the algorithm of these ALGORITHM_DIGITS, which need not be one of those found, and says
 * its number. CUBLAS_STATUS_NOT_SUPPORTED, or another error, if it does not take this shape. */
cublasStatus_t lt_matmul_restore(lt_matmul *matmul, const problem *problem, const char *digits,
                                 int *number);

/* The digits of the algorithm of that number. */
void lt_matmul_digits(const lt_matmul *matmul, int number, char digits[ALGORITHM_DIGITS + 1]);

/* Which one of them launches use; the first unless this says otherwise. One that does not exist
 * makes the next launch fail. */
void lt_matmul_choose(lt_matmul *matmul, int algorithm);

/* The names of the kernels by which the chosen algorithm computes this product. It has to have been
 * launched before: loading a kernel does not go into a graph. Returns 0, or non-zero after printing
 * one line. See kernel_names(). */
int lt_matmul_describe(lt_matmul *matmul, const problem *problem, char *text, size_t size);

/* Starts the computation on the stream, by the algorithm that was chosen. */
cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem);

#endif
