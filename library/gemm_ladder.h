/* The last rung as a library: D = X W^T + bias of bf16 matrices with fp32 sums, the product of
 * torch.nn.Linear. `make library` builds build/library/libgemm_ladder.a and .so. For C11 and C++.
 *
 * All functions work on the calling thread's current CUDA device, whose compute capability must be
 * 9.0. They may be called by several threads at once. */
#ifndef GEMM_LADDER_H
#define GEMM_LADDER_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns. Nothing was launched unless it is GL_OK; GL_CUDA_ERROR excepted, for which a
 * line on stderr says which CUDA call failed. */
enum {
    GL_OK = 0,
    GL_BAD_SHAPE,       /* m, n or k is not 1 to 2^30, or m * n exceeds 2^38 */
    GL_BAD_STRIDE,      /* ldx, ldw or ldd is shorter than a row, or longer than 2^32 */
    GL_BAD_POINTER,     /* d, x or w is NULL, or one of them or the workspace is not 16-byte
                           aligned, or the bias not 2-byte aligned */
    GL_SMALL_WORKSPACE, /* an operand has to be copied: see gl_linear_workspace() */
    GL_BAD_DEVICE,      /* no GPU, or not one of compute capability 9.0 */
    GL_CUDA_ERROR
};

/* A sentence about a status, with what to do. */
const char *gl_status_text(int status);

/* The bytes of workspace, device memory, with which a call where ldx = ldw = k takes its best
 * kernel on the current device. Two things need some: TMA reads rows that are multiples of 16 bytes
 * apart, so that other rows of x or w are copied first; and some kernels leave sums of parts there.
 * With less than this a call takes the best kernel without such sums. With less than the copies
 * need it is refused; where k, ldx and ldw are multiples of 8 there are no copies. Where k is one
 * but ldx or ldw is not, ask for k + 1. Tuning may change the answer. 0 for a shape that is
 * refused. */
size_t gl_linear_workspace(int m, int n, int k);

/* d[m][n] = x[m][k] w[n][k]^T + bias[n], in bf16 with fp32 sums; the bias, which may be NULL, is
 * added before they are rounded. Rows are ldx, ldw and ldd elements apart; other elements of d are
 * left as they are. d must not overlap what is read.
 *
 * It enqueues one to three kernels on `stream` and returns. It never waits and allocates no device
 * memory. The first call of a shape (m, n, k and the strides) on a device also chooses its kernel,
 * and allocates host memory for that. Calls may be captured in a CUDA
 * graph, the first one, too. Kernels begin early, by programmatic dependent launch, and wait for
 * earlier work before they read or write. The workspace must not be in use on another stream
 * meanwhile. Returns a status. */
int gl_linear_bf16(void *d, const void *x, const void *w, const void *bias, int m, int n, int k,
                   long ldx, long ldw, long ldd, void *workspace, size_t bytes,
                   cudaStream_t stream);

/* Finds the fastest of the kernels that the model ranks first for this shape, and makes later calls
 * of it on this device take that one; calls captured before keep theirs. It asks the user's file
 * ($GEMM_LADDER_TUNED, or gemm-ladder/tuned.txt in the cache folder) and otherwise times them on
 * operands of its own, after the work on `stream`, for about 10 ms, and writes the file. It
 * allocates and frees device memory of twice the L2 or two products, and waits; other threads'
 * calls wait meanwhile. So it must not run while this thread captures a graph, or another one does
 * with cudaStreamCaptureModeGlobal. Returns a status. */
int gl_linear_tune(int m, int n, int k, long ldx, long ldw, long ldd, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
