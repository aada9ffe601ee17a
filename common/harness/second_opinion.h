/* The same product by somebody else, who has to pass the same checks. On a GPU that is cuBLAS, with
 * whose time the rung's is compared; on the emulator a plain loop of the host. */
#ifndef GEMM_LADDER_HARNESS_SECOND_OPINION_H
#define GEMM_LADDER_HARNESS_SECOND_OPINION_H

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct second_opinion second_opinion;

/* What it is called in the output: "cuBLAS". It has fp32 sums. */
extern const char second_opinion_name[];

/* The same with fp16 sums, for steps that have them; NULL where there is none. */
extern const char *const second_opinion_fp16_sums_name;

/* NULL after printing one line if it cannot be started. fp16_sums: it has them too. */
second_opinion *second_opinion_open(enum computation computes, bool fp16_sums,
                                    struct CUstream_st *stream);
void second_opinion_close(second_opinion *opinion);

/* Starts the computation, into problem->d, on the stream it was opened with. Returns 0, or non-zero
 * after printing one line. */
int second_opinion_launch(second_opinion *opinion, const problem *problem);

#ifdef __cplusplus
}
#endif

#endif
