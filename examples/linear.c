/* Linear layers by the library: the first is checked against a plain loop, and all are tuned and
 * timed beside cuBLAS. From the project's folder, after `make library`:
 *
 *     gcc -O2 -Ilibrary -I/usr/local/cuda/include examples/linear.c -o linear \
 *         build/library/libgemm_ladder.a -L/usr/local/cuda/lib64 -lcudart_static -lcublas \
 *         -lstdc++ -lpthread -ldl -lrt -lm
 */
#include "gemm_ladder.h"

#include <cublas_v2.h>
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

/* D [m][n] = X [m][k] W [n][k]^T + bias [n]. */
typedef struct layer {
    int m, n, k;
    matrix x, w, bias, d;
    void *workspace;
    size_t bytes;
    cudaStream_t stream;
    cublasHandle_t cublas;
} layer;

static void by_library(const layer *l) {
    check_gl(gl_linear_bf16(l->d.device, l->x.device, l->w.device, l->bias.device, l->m, l->n, l->k,
                            l->k, l->k, l->n, l->workspace, l->bytes, l->stream));
}

/* Without the bias. cuBLAS has columns where we have rows: D^T = W X^T. */
static void by_cublas(const layer *l) {
    static const float ONE = 1, ZERO = 0;
    CHECK(cublasGemmEx(l->cublas, CUBLAS_OP_T, CUBLAS_OP_N, l->n, l->m, l->k, &ONE, l->w.device,
                       CUDA_R_16BF, l->k, l->x.device, CUDA_R_16BF, l->k, &ZERO, l->d.device,
                       CUDA_R_16BF, l->n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

/* Every element. The sums are at most 256, and so exact in bf16, too. */
static void check_result(const layer *l) {
    CHECK(cudaStreamSynchronize(l->stream));
    CHECK(cudaMemcpy(l->d.host, l->d.device, l->d.bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < l->m; ++i)
        for (int j = 0; j < l->n; ++j) {
            float sum = from_bf16(l->bias.host[j]);
            for (int k = 0; k < l->k; ++k)
                sum += from_bf16(l->x.host[i * l->k + k]) * from_bf16(l->w.host[j * l->k + k]);
            if (from_bf16(l->d.host[i * l->n + j]) != sum) {
                fprintf(stderr, "d[%d][%d] is not %g\n", i, j, (double)sum);
                exit(1);
            }
        }
    printf("%d x %d x %d: all elements are right\n", l->m, l->n, l->k);
}

/* Microseconds of a call, of 50 back to back. */
static double time_of(void (*call)(const layer *), const layer *l) {
    cudaEvent_t begin, end;
    float ms = 0;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin, l->stream));
    for (int i = 0; i < 50; ++i)
        call(l);
    CHECK(cudaEventRecord(end, l->stream));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return 1e3 * (double)ms / 50;
}

int main(void) {
    static const int SHAPES[][3] = {
        {100, 203, 77}, {16, 8192, 8192}, {512, 512, 8192}, {4096, 4096, 4096}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; ++i) {
        const int m = SHAPES[i][0], n = SHAPES[i][1], k = SHAPES[i][2];
        layer l = {.m = m, .n = n, .k = k};
        l.x = integers(m, k), l.w = integers(n, k);
        l.bias = integers(1, n), l.d = integers(m, n);
        CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
        CHECK(cublasCreate(&l.cublas));
        CHECK(cublasSetStream(l.cublas, l.stream));
        /* Without tuning the model chooses the kernel; which one it is decides the workspace. */
        check_gl(gl_linear_tune(m, n, k, k, k, n, l.stream));
        l.bytes = gl_linear_workspace(m, n, k);
        CHECK(cudaMalloc(&l.workspace, l.bytes));
        by_library(&l);
        if (i == 0)
            check_result(&l);
        by_cublas(&l);
        printf("%d x %d x %d: %.1f us by the library, %.1f us by cuBLAS\n", m, n, k,
               time_of(by_library, &l), time_of(by_cublas, &l));
        release(&l.x), release(&l.w), release(&l.bias), release(&l.d);
        CHECK(cudaFree(l.workspace));
        CHECK(cublasDestroy(l.cublas));
        CHECK(cudaStreamDestroy(l.stream));
    }
    return 0;
}
