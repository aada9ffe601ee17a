/* Checks a CUDA call. For the harness files that call CUDA; the others never see this header. */
#ifndef GEMM_LADDER_HARNESS_CUDA_FAILED_H
#define GEMM_LADDER_HARNESS_CUDA_FAILED_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* False if status is success. Otherwise prints one line: what was being done (the format), the
 * name of the error and what CUDA says about it. */
bool cuda_failed(cudaError_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
