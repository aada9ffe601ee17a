/* What the second opinion can do on a GPU beside what second_opinion.h says: choose among the
 * algorithms that cuBLASLt has for a product. It has to be CONTENDER_HEURISTIC's. */
#ifndef GEMM_LADDER_HARNESS_CUBLAS_H
#define GEMM_LADDER_HARNESS_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/heuristics.h"
#include "harness/second_opinion.h"

/* Times `most` of them at most, or all configurations, and takes the fastest. See
 * heuristics_search(). */
int cublas_search(second_opinion *opinion, const problem *const *problems, size_t copies, int most,
                  bool enumerates, heuristics *found);

/* Takes the algorithm of these digits, runs it once and times nothing. Returns 0, or non-zero after
 * printing one line if it does not take the shape. */
int cublas_take(second_opinion *opinion, const problem *problem, const char *digits,
                heuristics *found);

#endif
