/* CUDA's events for the emulator, which has none: it measures no time. Included before a standalone
 * program, whose main times its launches with them; what they say means nothing. */
#ifndef GEMM_LADDER_STANDALONE_EVENTS_H
#define GEMM_LADDER_STANDALONE_EVENTS_H

#include <cuda_runtime.h>

typedef struct CUevent_st *cudaEvent_t;

/* The calls of the CUDA Runtime API (Event Management). They succeed. */
inline cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = nullptr;
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
    *milliseconds = 1;
    return cudaSuccess;
}

#endif
