/* cuBLAS and cuBLASLt as the second opinion. */
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include "harness/reference.h"
#include "harness/timing.h"

/* The workspace is what cuBLAS's documentation recommends for Hopper. */
enum { MOST_ALGORITHMS = 1 << 16, LT_WORKSPACE_BYTES = 32 << 20 };

/* cuBLASLt, unlike cuBLAS, returns several algorithms to choose from, and computes D = alpha * A *
 * B^T + beta * C, where cuBLAS itself would overwrite C. It is for problems of one shape. */
struct second_opinion {
    const step *step; /* outlives it */
    int contender;
    cublasHandle_t cublas;
    cublasLtHandle_t lt; /* of ADDMM_FP16, GEMM_FP8, and cuBLASLt's first and best; else NULL */
    void *workspace;
    cublasLtMatmulDescOpaque_t operation;
    cublasLtMatrixLayoutOpaque_t a, b, d; /* C has D's */
    int chosen;                           /* of the algorithms; 0: cuBLASLt's own choice */
    int heuristics; /* the first ones are those that cuBLASLt has returned ... */
    int count;      /* ... of all */
    cublasLtMatmulAlgo_t algorithms[MOST_ALGORITHMS];
};

/* Starts it for problems of this shape, and requests its algorithms; there may be none. */
void lt_open(second_opinion *opinion, const problem *problem);

/* Appends all other configurations of these algorithms. */
void lt_enumerate(second_opinion *opinion);

/* Chooses the algorithm of these digits. Ends the program if cuBLASLt does not take it for the
 * shape. */
void lt_take(second_opinion *opinion, const problem *problem, const char *digits);

/* Starts the computation by the chosen algorithm. Sums and partial sums stay in fp32. */
cublasStatus_t lt_launch(second_opinion *opinion, const problem *problem);

/* The algorithm of that number, not timed. */
heuristic lt_describe(const second_opinion *opinion, int number);

/* Does nothing if a call has succeeded. Otherwise ends the program and says what was being done. */
void cublas_check(cublasStatus_t status, const char *what);
