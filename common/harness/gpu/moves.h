/* Plain ways to move words on a GPU, for a rung to be compared with. */
#ifndef GEMM_LADDER_HARNESS_GPU_MOVES_H
#define GEMM_LADDER_HARNESS_GPU_MOVES_H

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* D = A, byte for byte, by cudaMemcpyAsync on the problem's stream. Returns 0, or non-zero after
 * printing one line. */
int moves_copy(const problem *problem);

/* D = A + 1 by a kernel of four words a thread, without TMA and shared memory. The same returns. */
int moves_add_one(const problem *problem);

#ifdef __cplusplus
}
#endif

#endif
