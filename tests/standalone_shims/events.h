/* For standalone programs on the emulator; included before them.
 *
 * CUDA's events, which the emulator has not: it measures no time. What they say means nothing. And
 * a cudaMemcpy that does damage: STANDALONE_DAMAGE="2 17" in the environment turns a bit of byte 17
 * over in the second copy, so that a test sees whether the program finds it. */
#ifndef GEMM_LADDER_STANDALONE_EVENTS_H
#define GEMM_LADDER_STANDALONE_EVENTS_H

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

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

inline cudaError_t damaging_memcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    static int copies = 0;
    const char *wish = std::getenv("STANDALONE_DAMAGE");
    int copy = 0;
    size_t byte = 0;
    const cudaError_t status = cudaMemcpy(to, from, bytes, kind);
    ++copies;
    if (wish != nullptr && std::sscanf(wish, "%d %zu", &copy, &byte) == 2 && copy == copies &&
        byte < bytes)
        static_cast<unsigned char *>(to)[byte] ^= 1;
    return status;
}
#define cudaMemcpy damaging_memcpy

#endif
