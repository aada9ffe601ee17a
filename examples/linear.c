/* A linear layer by the library: one product checked against a plain loop, what a call costs its
 * caller, and few rows of large weights. From the project's folder, after `make library`:
 *
 *     gcc -O2 -Ilibrary -I/usr/local/cuda/include examples/linear.c -o linear \
 *         build/library/libgemm_ladder.a -L/usr/local/cuda/lib64 -lcudart_static -lcublas \
 *         -lcublasLt -lstdc++ -lpthread -ldl -lrt -lm
 */
#include "gemm_ladder.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef COMMIT
#define COMMIT "unknown"
#endif

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

static void *device_memory(size_t bytes) {
    void *memory = NULL;
    CHECK(cudaMalloc(&memory, bytes));
    return memory;
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

/* Small integers on the device, and on the host, in *host. */
static void *integers(size_t count, unsigned short **host) {
    void *const device = device_memory(2 * count);
    *host = malloc(2 * count);
    for (size_t i = 0; i < count; ++i)
        (*host)[i] = to_bf16((float)(rand() % 5 - 2));
    CHECK(cudaMemcpy(device, *host, 2 * count, cudaMemcpyHostToDevice));
    return device;
}

/* ------------------------------------------------------------------ one product, step by step */

static void check_one(void) {
    const int m = 100, n = 203, k = 77; /* rows that must be copied */
    unsigned short *x, *w, *bias, *d = malloc(2 * (size_t)m * n);
    void *const device_x = integers((size_t)m * k, &x), *const device_w =
                                                            integers((size_t)n * k, &w);
    void *const device_bias = integers((size_t)n, &bias), *const device_d =
                                                              device_memory(2 * (size_t)m * n);
    const size_t bytes = gl_linear_workspace(m, n, k);
    void *const workspace = device_memory(bytes);

    check_gl(gl_linear_bf16(device_d, device_x, device_w, device_bias, m, n, k, k, k, n, workspace,
                            bytes, NULL));
    CHECK(cudaMemcpy(d, device_d, 2 * (size_t)m * n, cudaMemcpyDeviceToHost));
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = from_bf16(bias[j]);
            for (int l = 0; l < k; ++l)
                sum += from_bf16(x[i * k + l]) * from_bf16(w[j * k + l]);
            if (from_bf16(d[i * n + j]) != sum) { /* at most 256: exact in bf16, too */
                fprintf(stderr, "d[%d][%d] is %g, not %g\n", i, j, from_bf16(d[i * n + j]), sum);
                exit(1);
            }
        }
    printf("%d x %d x %d with a bias: all elements are right\n\n", m, n, k);
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_w));
    CHECK(cudaFree(device_bias));
    CHECK(cudaFree(device_d));
    CHECK(cudaFree(workspace));
    free(x), free(w), free(bias), free(d);
}

/* ------------------------------------------------------------------ what a call costs its caller
 */

typedef struct product {
    int m, n, k;
    void *d, *x, *w, *workspace;
    size_t bytes;
    cudaStream_t stream;
    cublasHandle_t cublas;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t w_as, x_as, d_as;
    cublasLtMatmulHeuristicResult_t found;
} product;
static const float ONE = 1, ZERO = 0;

static void by_library(const product *p) {
    check_gl(gl_linear_bf16(p->d, p->x, p->w, NULL, p->m, p->n, p->k, p->k, p->k, p->n,
                            p->workspace, p->bytes, p->stream));
}
/* cuBLAS has columns where we have rows: D^T = W X^T. */
static void by_cublas(const product *p) {
    CHECK(cublasGemmEx(p->cublas, CUBLAS_OP_T, CUBLAS_OP_N, p->n, p->m, p->k, &ONE, p->w,
                       CUDA_R_16BF, p->k, p->x, CUDA_R_16BF, p->k, &ZERO, p->d, CUDA_R_16BF, p->n,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}
static void by_cublaslt(const product *p) {
    CHECK(cublasLtMatmul(p->lt, p->what, &ONE, p->w, p->w_as, p->x, p->x_as, &ZERO, p->d, p->d_as,
                         p->d, p->d_as, &p->found.algo, p->workspace, p->bytes, p->stream));
}

enum { WORKSPACE = 64 << 20 };
static void make_product(product *p, int m, int n, int k) {
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtMatmulPreference_t preference;
    size_t bytes = WORKSPACE;
    int found = 0;
    *p = (product){.m = m, .n = n, .k = k, .bytes = WORKSPACE};
    p->d = device_memory(2 * (size_t)m * n);
    p->x = device_memory(2 * (size_t)m * k);
    p->w = device_memory(2 * (size_t)n * k);
    p->workspace = device_memory(WORKSPACE);
    CHECK(cudaMemset(p->x, 0, 2 * (size_t)m * k));
    CHECK(cudaMemset(p->w, 0, 2 * (size_t)n * k));
    CHECK(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    CHECK(cublasCreate(&p->cublas));
    CHECK(cublasSetStream(p->cublas, p->stream));
    CHECK(cublasLtCreate(&p->lt));
    CHECK(cublasLtMatmulDescCreate(&p->what, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CHECK(cublasLtMatmulDescSetAttribute(p->what, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                         sizeof transposed));
    CHECK(cublasLtMatrixLayoutCreate(&p->w_as, CUDA_R_16BF, k, n, k));
    CHECK(cublasLtMatrixLayoutCreate(&p->x_as, CUDA_R_16BF, k, m, k));
    CHECK(cublasLtMatrixLayoutCreate(&p->d_as, CUDA_R_16BF, n, m, n));
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &bytes, sizeof bytes));
    CHECK(cublasLtMatmulAlgoGetHeuristic(p->lt, p->what, p->w_as, p->x_as, p->d_as, p->d_as,
                                         preference, 1, &p->found, &found));
    CHECK(cublasLtMatmulPreferenceDestroy(preference));
    CHECK(found != 1);
}
static void free_product(product *p) {
    CHECK(cudaFree(p->d));
    CHECK(cudaFree(p->x));
    CHECK(cudaFree(p->w));
    CHECK(cudaFree(p->workspace));
    CHECK(cublasDestroy(p->cublas));
    CHECK(cublasLtMatmulDescDestroy(p->what));
    CHECK(cublasLtMatrixLayoutDestroy(p->w_as));
    CHECK(cublasLtMatrixLayoutDestroy(p->x_as));
    CHECK(cublasLtMatrixLayoutDestroy(p->d_as));
    CHECK(cublasLtDestroy(p->lt));
    CHECK(cudaStreamDestroy(p->stream));
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over rounds of calls that nothing waits for, in microseconds a call. The stream is
 * empty before each round, so that its queue never fills. */
enum { ROUNDS = 101, CALLS = 20 };
static double host_us(void (*call)(const product *), const product *p) {
    double us[ROUNDS];
    for (int round = 0; round < ROUNDS; ++round) {
        CHECK(cudaStreamSynchronize(p->stream));
        const double begin = seconds();
        for (int i = 0; i < CALLS; ++i)
            call(p);
        us[round] = 1e6 * (seconds() - begin) / CALLS;
    }
    CHECK(cudaStreamSynchronize(p->stream));
    qsort(us, ROUNDS, sizeof *us, by_value);
    return us[ROUNDS / 2];
}

static void host_times(void) {
    static const int SHAPES[][3] = {{1, 4096, 4096},   {16, 8192, 8192},  {128, 512, 512},
                                    {512, 512, 8192},  {1000, 1000, 999}, {2048, 2048, 2048},
                                    {4096, 4096, 4096}};
    printf("host time of a call, us\n%-18s %8s %14s %14s\n", "m x n x k", "library", "cublasGemmEx",
           "cublasLtMatmul");
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; ++i) {
        product p;
        char shape[40];
        make_product(&p, SHAPES[i][0], SHAPES[i][1], SHAPES[i][2]);
        snprintf(shape, sizeof shape, "%d x %d x %d", p.m, p.n, p.k);
        printf("%-18s %8.2f %14.2f %14.2f\n", shape, host_us(by_library, &p),
               host_us(by_cublas, &p), host_us(by_cublaslt, &p));
        free_product(&p);
    }
}

/* ------------------------------------------------------------------ few rows of large weights */

/* Back to back, in microseconds each: the median of rounds. The weights rotate. */
enum { WEIGHTS = 4, IN_A_ROW = 64, REPEATS = 11, SIDE = 8192 };
static double gpu_us(void (*call)(const product *), product *p, void *const *weights) {
    double us[REPEATS];
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int repeat = 0; repeat < REPEATS; ++repeat) {
        float ms = 0;
        CHECK(cudaEventRecord(begin, p->stream));
        for (int i = 0; i < IN_A_ROW; ++i) {
            p->w = weights[i % WEIGHTS];
            call(p);
        }
        CHECK(cudaEventRecord(end, p->stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        us[repeat] = 1e3 * (double)ms / IN_A_ROW;
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    qsort(us, REPEATS, sizeof *us, by_value);
    return us[REPEATS / 2];
}

/* Copies the weights that the call names to the workspace. */
static void copy_weights(const product *p) {
    CHECK(cudaMemcpyAsync(p->workspace, p->w, 2 * (size_t)SIDE * SIDE, cudaMemcpyDeviceToDevice,
                          p->stream));
}

static void few_rows(void) {
    const double gigabytes = 2e-9 * SIDE * SIDE;
    void *weights[WEIGHTS];
    unsigned short *host;
    weights[0] = integers((size_t)SIDE * SIDE, &host);
    for (int i = 1; i < WEIGHTS; ++i) {
        weights[i] = device_memory(2 * (size_t)SIDE * SIDE);
        CHECK(cudaMemcpy(weights[i], host, 2 * (size_t)SIDE * SIDE, cudaMemcpyHostToDevice));
    }
    free(host);
    product copy = {.workspace = device_memory(2 * (size_t)SIDE * SIDE)};
    CHECK(cudaStreamCreateWithFlags(&copy.stream, cudaStreamNonBlocking));
    const double copied = 2 * gigabytes / (1e-6 * gpu_us(copy_weights, &copy, weights));
    CHECK(cudaFree(copy.workspace));
    printf(
        "\nrows x %d x %d in a row, %d weights in turn: GB/s of weights; a copy reads and writes "
        "%.0f GB/s\n%-6s %10s %10s %14s %12s %11s\n",
        SIDE, SIDE, WEIGHTS, copied, "rows", "library", "tuned", "cublasLtMatmul", "tuned/copy",
        "tuning, ms");
    for (int rows = 1; rows <= 16; rows *= 4) {
        product p;
        make_product(&p, rows, SIDE, SIDE);
        void *const own = p.w;
        const double chosen = gigabytes / (1e-6 * gpu_us(by_library, &p, weights));
        const double begin = seconds();
        check_gl(gl_linear_tune(rows, SIDE, SIDE, SIDE, SIDE, SIDE, p.stream));
        const double tuning = 1e3 * (seconds() - begin);
        const double tuned = gigabytes / (1e-6 * gpu_us(by_library, &p, weights));
        const double lt = gigabytes / (1e-6 * gpu_us(by_cublaslt, &p, weights));
        printf("%-6d %10.0f %10.0f %14.0f %12.3f %11.1f\n", rows, chosen, tuned, lt, tuned / copied,
               tuning);
        p.w = own;
        free_product(&p);
    }
    CHECK(cudaStreamDestroy(copy.stream));
    for (int i = 0; i < WEIGHTS; ++i)
        CHECK(cudaFree(weights[i]));
}

int main(void) {
    struct cudaDeviceProp gpu;
    char date[32];
    int runtime = 0, driver = 0;
    const time_t now = time(NULL);
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    printf("%s, CUDA %d, driver %d, cuBLAS %zu, commit %s, %s\n", gpu.name, runtime, driver,
           cublasLtGetVersion(), COMMIT, date);
    check_one();
    host_times();
    few_rows();
    return 0;
}
