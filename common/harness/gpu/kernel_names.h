/* Which kernels a library's call starts, found without a profiler: the call is captured into a
 * graph instead of run, and the graph's nodes are asked. */
#ifndef GEMM_LADDER_HARNESS_KERNEL_NAMES_H
#define GEMM_LADDER_HARNESS_KERNEL_NAMES_H

#include <stddef.h>

struct CUstream_st;

/* enqueue(context) puts work on the stream and returns 0; it is not run. Writes the names of its
 * kernels into text, in order, with " + " between, cut to size. Returns 0, or non-zero after
 * printing one line. (CUDA driver API: Stream Management, Graph Management.) */
int kernel_names(struct CUstream_st *stream, int (*enqueue)(void *context), void *context,
                 char *text, size_t size);

#endif
