/* D = alpha * A * B^T + beta * C by cuBLASLt: cuBLAS itself would overwrite C. */
#ifndef GEMM_LADDER_HARNESS_ADDMM_H
#define GEMM_LADDER_HARNESS_ADDMM_H

#include <cublas_v2.h>

#include "step.h"

typedef struct addmm addmm;

/* NULL after printing one line if it cannot be started. */
addmm *addmm_open(struct CUstream_st *stream);
void addmm_close(addmm *addmm);

/* Starts it on the stream, by the algorithm that cuBLASLt deems best for the shape. */
cublasStatus_t addmm_launch(addmm *addmm, const problem *problem);

#endif
