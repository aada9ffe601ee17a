/* The same product by cuBLAS: the second opinion, and what the time is compared with. */
#ifndef GEMM_LADDER_HARNESS_CUBLAS_GEMM_H
#define GEMM_LADDER_HARNESS_CUBLAS_GEMM_H

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cublas_gemm cublas_gemm;

/* NULL after printing one line if cuBLAS cannot be started. */
cublas_gemm *cublas_gemm_open(struct CUstream_st *stream);
void cublas_gemm_close(cublas_gemm *cublas);

/* Starts problem->d = A * B^T on the stream it was opened with. Returns 0, or non-zero after
 * printing one line. */
int cublas_gemm_launch(cublas_gemm *cublas, const problem *problem);

#ifdef __cplusplus
}
#endif

#endif
