/* cuBLASLt's product of one shape, that of the first problem. Unlike cuBLAS it returns several
 * algorithms to choose from, and computes D = alpha * A * B^T + beta * C, where cuBLAS itself would
 * overwrite C. */
#pragma once

#include <cublas_v2.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/timing.h"
#include "step.h"

typedef struct lt_matmul lt_matmul;

/* The step computes a product or ADDMM. fast: sums of FP8 stay in the tensor cores. */
lt_matmul *lt_matmul_open(const step *step, bool fast, struct CUstream_st *stream);
void lt_matmul_close(lt_matmul *matmul);

/* Whether cuBLASLt's heuristic returns any algorithm for the problem. */
bool lt_matmul_takes(lt_matmul *matmul, const problem *problem);

/* Starts the computation on the stream, by the algorithm that was chosen: cuBLASLt's first choice,
 * unless the functions below choose another. Sums and partial sums stay in fp32. */
cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem);

/* Times `most` of the heuristic's algorithms at most, or these and all other configurations, each
 * on problems[0], [1], ... [copies - 1] in turn. Of many, all are launched once, then the faster
 * half once more, and so on; a Ctrl-C ends that. Few are sampled once each, then the fastest few
 * several times more, in turn. Lists in *found what was sampled, the finalists first. Algorithms
 * that cuBLASLt then refuses are left out. The outputs are overwritten. */
void lt_matmul_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                      bool enumerates, heuristics *found);

/* Chooses one of those that a search has listed. */
void lt_matmul_choose(lt_matmul *matmul, const heuristic *chosen);

/* Chooses the algorithm of these digits, runs it once and times nothing. Ends the program if
 * cuBLASLt does not take it for the shape. */
void lt_matmul_take(lt_matmul *matmul, const problem *problem, const char *digits,
                    heuristics *found);

/* Does nothing if a call has succeeded. Otherwise ends the program and names what was being done.
 * */
void cublas_check(cublasStatus_t status, const char *what);
