/* The same by somebody else, who has to pass the same checks, and with whose time the rung's is
 * compared. On a GPU that is cuBLAS where it has the computation, and for what moves words also a
 * plain copy; on the emulator a plain loop of the host. */
#ifndef GEMM_LADDER_HARNESS_SECOND_OPINION_H
#define GEMM_LADDER_HARNESS_SECOND_OPINION_H

#include "harness/timing.h"
#include "step.h"

typedef struct second_opinion second_opinion;

/* What the contender (contenders.h; not CONTENDER_STEP) is called in the output: "cuBLAS". NULL if
 * this machine has none of the kind. */
const char *second_opinion_name(enum computation computes, int contender);

/* It must have a name. */
second_opinion *second_opinion_open(enum computation computes, int contender,
                                    struct CUstream_st *stream);
void second_opinion_close(second_opinion *opinion);

/* Starts the computation, into problem->d, on the stream it was opened with. */
void second_opinion_launch(second_opinion *opinion, const problem *problem);

#endif
