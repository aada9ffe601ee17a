/* The fastest of the algorithms that cuBLASLt has for a product, found by timing them all. */
#ifndef GEMM_LADDER_HARNESS_HEURISTICS_H
#define GEMM_LADDER_HARNESS_HEURISTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/gpu/lt_matmul.h"
#include "step.h"

/* Times the first `most` algorithms at most (if it enumerates, then all, and all their
 * configurations), each on problems[0], [1], ... [copies - 1] in turn:
 * all of them once, then the fastest few several times more, in turn. Chooses the one whose median
 * is the smallest, and says in *found what was tried. Those that cuBLASLt then refuses are left
 * out. The outputs are overwritten. Returns 0, or non-zero after printing one line. */
int heuristics_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                      bool enumerates, heuristics *found);

#endif
