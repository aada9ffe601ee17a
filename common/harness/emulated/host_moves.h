/* What the computations that move words do, by a plain loop of the host. */
#ifndef GEMM_LADDER_HARNESS_EMULATED_HOST_MOVES_H
#define GEMM_LADDER_HARNESS_EMULATED_HOST_MOVES_H

#include "step.h"

/* Reads A from its first word to its last: the reference goes over D. */
void host_moves(enum computation computes, const problem *problem);

#endif
