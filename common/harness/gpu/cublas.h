/* cuBLAS as the second opinion; and cuBLASLt, which, unlike cuBLAS, can be asked for several
 * algorithms and told which of them to use, and computes D = alpha * A * B^T + beta * C, where
 * cuBLAS itself would overwrite C. */
#pragma once

#include <cublas_v2.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/reference.h"
#include "harness/timing.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nothing if a call has succeeded. Otherwise the end of the program, with what was being done. */
void cublas_check(cublasStatus_t status, const char *what);

/* D = A + 1 by a plain kernel. */
void add_one(const problem *problem);

/* ---- cuBLASLt's product of one shape: that of the first problem */

typedef struct lt_matmul lt_matmul;

/* What CONTENDER_HEURISTIC launches. */
lt_matmul *cublas_matmul(const second_opinion *opinion);

/* The computation is a product or ADDMM. */
lt_matmul *lt_matmul_open(enum computation computes, struct CUstream_st *stream);
void lt_matmul_close(lt_matmul *matmul);

/* How many algorithms, of MOST_HEURISTICS asked for, cuBLASLt has for this shape, the one it deems
 * best first. Sums and partial sums stay in fp32. */
int lt_matmul_count(lt_matmul *matmul, const problem *problem);

/* Looks for other configurations of what lt_matmul_count() has found: every tile, cluster shape and
 * custom option, without a split of k. Those that take the shape are numbered on from there;
 * returns how many there are now in all. Takes seconds, a limited number of them. (cuBLAS
 * documentation: cublasLtMatmulAlgoCapGetAttribute, cublasLtMatmulAlgoCheck.) */
int lt_matmul_enumerate(lt_matmul *matmul);

/* Chooses the algorithm of these ALGORITHM_DIGITS, which need not be one of those found, and
 * returns its number; negative if it does not take this shape. */
int lt_matmul_restore(lt_matmul *matmul, const problem *problem, const char *digits);

/* Which one of them launches use; the first unless this says otherwise. One that does not exist
 * makes the next launch fail. */
void lt_matmul_choose(lt_matmul *matmul, int algorithm);

/* The digits of the chosen algorithm, and the names of the kernels by which it computes this
 * product, found without a profiler: the call is captured into a graph instead of run, and the
 * graph's nodes are asked. It has to have been launched before: loading a kernel does not go into a
 * graph. (CUDA driver API: Stream Management, Graph Management.) */
void lt_matmul_describe(lt_matmul *matmul, const problem *problem, heuristic *described);

/* Starts the computation on the stream, by the algorithm that was chosen. */
cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem);

/* ---- choosing among its algorithms */

/* Times `most` of them at most, or all configurations, each on problems[0], [1], ... [copies - 1]
 * in turn: all of them once, then the fastest few several times more, in turn. Chooses the one
 * whose median is the smallest, and says in *found what was tried. Those that cuBLASLt then refuses
 * are left out. The outputs are overwritten. */
void heuristics_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                       bool enumerates, heuristics *found);

/* Chooses the algorithm of these digits, runs it once and times nothing. Ends the program if
 * cuBLASLt does not take it for the shape. */
void heuristics_take(lt_matmul *matmul, const problem *problem, const char *digits,
                     heuristics *found);

#ifdef __cplusplus
}
#endif
