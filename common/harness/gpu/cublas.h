/* What the second opinion can do on a GPU beside what second_opinion.h says: choose among the
 * algorithms that cuBLASLt has for a product. It has to be CONTENDER_HEURISTIC's. */
#ifndef GEMM_LADDER_HARNESS_CUBLAS_H
#define GEMM_LADDER_HARNESS_CUBLAS_H

#include <stddef.h>

#include "harness/heuristics.h"
#include "harness/second_opinion.h"

/* Times `most` of them at most and takes the fastest. See heuristics_search(). */
int cublas_search(second_opinion *opinion, const problem *const *problems, size_t copies, int most,
                  heuristics *found);

/* Takes the one of that number, runs it once and times nothing. Returns 0, or non-zero after
 * printing one line if there is none. */
int cublas_take(second_opinion *opinion, const problem *problem, int number, heuristics *found);

#endif
