/* A linear layer by the library: tuned, called, and checked against a plain loop; linear.py times
 * some. From the project's folder, after `make library`:
 *
 *     gcc -O2 -Ilibrary -I/usr/local/cuda/include examples/linear.c -o linear \
 *         build/library/libgemm_ladder.a -L/usr/local/cuda/lib64 -lcudart_static -lstdc++ \
 *         -lpthread -ldl -lrt -lm
 */
#include "gemm_ladder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with what failed. */
#define CHECK(call) check((int)(call), #call)
static void check(int status, const char *call) {
    if (status != 0) {
        fprintf(stderr, "%s: status %d\n", call, status);
        exit(1);
    }
}

static void check_gl(int status) {
    if (status != GL_OK) {
        fprintf(stderr, "gl_linear: %s\n", gl_status_text(status));
        exit(1);
    }
}

/* bf16 is the upper half of fp32. These are small integers, which it holds exactly. */
static unsigned short to_bf16(float value) {
    unsigned int bits;
    memcpy(&bits, &value, 4);
    return (unsigned short)(bits >> 16);
}
static float from_bf16(unsigned short bits) {
    const unsigned int wide = (unsigned int)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

/* A matrix of bf16, on the device and on the host. */
typedef struct matrix {
    void *device;
    unsigned short *host;
    size_t bytes;
} matrix;

static matrix integers(int rows, int columns) {
    matrix made = {NULL, NULL, 2 * (size_t)rows * columns};
    made.host = malloc(made.bytes);
    for (size_t i = 0; i < made.bytes / 2; ++i)
        made.host[i] = to_bf16((float)(rand() % 5 - 2));
    CHECK(cudaMalloc(&made.device, made.bytes));
    CHECK(cudaMemcpy(made.device, made.host, made.bytes, cudaMemcpyHostToDevice));
    return made;
}

static void release(matrix *m) {
    CHECK(cudaFree(m->device));
    free(m->host);
}

/* D [m][n] = X [m][k] W [n][k]^T + bias [n]. No sum exceeds 256, up to which bf16 holds every
 * integer. */
int main(void) {
    const int m = 100, n = 203, k = 61;
    matrix x = integers(m, k), w = integers(n, k), bias = integers(1, n), d = integers(m, n);
    void *workspace;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    /* Without tuning the model chooses the kernel; which one it is decides the workspace. */
    check_gl(gl_linear_tune(m, n, k, k, k, n, stream));
    const size_t bytes = gl_linear_workspace(m, n, k);
    CHECK(cudaMalloc(&workspace, bytes));
    check_gl(gl_linear_bf16(d.device, x.device, w.device, bias.device, m, n, k, k, k, n, workspace,
                            bytes, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(d.host, d.device, d.bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = from_bf16(bias.host[j]);
            for (int l = 0; l < k; ++l)
                sum += from_bf16(x.host[i * k + l]) * from_bf16(w.host[j * k + l]);
            if (from_bf16(d.host[i * n + j]) != sum) {
                fprintf(stderr, "d[%d][%d] is not %g\n", i, j, (double)sum);
                return 1;
            }
        }
    printf("%d x %d x %d: all elements are right\n", m, n, k);
    release(&x), release(&w), release(&bias), release(&d);
    CHECK(cudaFree(workspace));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
