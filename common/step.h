/* The contract between a rung and everything else.
 *
 * A rung describes itself in one `step` record and its main() is one line:
 *
 *     int main(int argc, char **argv) { return run_step<State>(v07, argc, argv); }
 *
 * run_step() (device/launch.cuh) fills in the functions from the rung's State. step_main() parses
 * the command line, makes the operands, runs, checks, times and reports. A program of your own may
 * link a rung's object, bring a step_main() of its own and drive the record through prepare, launch
 * and release: nothing else of the harness is needed.
 */
#ifndef GEMM_LADDER_STEP_H
#define GEMM_LADDER_STEP_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* cudaStream_t points to it; a machine without CUDA passes NULL */

/* What a rung computes. All matrices are row-major and densely packed. The products have three
 * dimensions. The last two move the words of a matrix [m][n], each once: they have no B and no k.
 */
enum computation {
    GEMM_BF16 = 1,     /* D[m][n] = sum over k of A[m][k] * B[n][k]; bf16 in and out, fp32 sums */
    GEMM_FP16 = 2,     /* the same in fp16; the sums are fp32, or fp16 if the step says fp16_sums */
    ADDMM_FP16 = 3,    /* D = alpha * A * B^T + beta * C; A and B fp16, C, D and the sums fp32 */
    ADD_ONE_INT32 = 4, /* D[m][n] = A[m][n] + 1 modulo 2^32 */
    TRANSPOSE_FP32 = 5, /* D[n][m] = A[m][n], bit for bit */
    GEMM_FP8 = 6        /* D[m][n] = sum over k of A[m][k] * B[n][k] * their scales; A and B e4m3,
                           the scales fp32, D bf16; see below */
};

/* The scales of GEMM_FP8, greater than 0. Of a step with block_scales, each SCALE_BLOCK elements of
 * k of a row of A share one, and each square block of B: as cuBLASLt has them (VEC128_32F of A,
 * BLK128x128_32F of B), and DeepGEMM. The layouts are those of cuBLASLt:
 *
 *   scale_a [ceil(k / SCALE_BLOCK)][m]          rows of A side by side
 *   scale_b [ceil(n / SCALE_BLOCK)][columns]    columns: ceil(k / SCALE_BLOCK), rounded up to a
 *                                               multiple of 4
 *
 * Of other steps there is one for A and one for B. */
enum { SCALE_BLOCK = 128 };

/* m, n and k are at most LARGEST_DIMENSION, so that a coordinate inside a matrix plus a tile's rows
 * or columns never overflows an int; and m * n at most LARGEST_OUTPUT, so that an int counts D's
 * tiles. */
enum { LARGEST_DIMENSION = 1 << 30 };
#define LARGEST_OUTPUT (1LL << 38)

/* One problem: the operands in device memory, 16-byte aligned, and their shape in elements. */
typedef struct problem {
    const void *a;        /* [m][k]; without k, [m][n] */
    const void *b;        /* [n][k]; NULL without k */
    const void *c;        /* [m][n], only of ADDMM_FP16; not to be read if beta is 0 */
    void *d;              /* [m][n], of TRANSPOSE_FP32 [n][m] */
    const float *scale_a; /* only of GEMM_FP8: see above */
    const float *scale_b;
    float alpha; /* only of ADDMM_FP16; if it is 0, A and B are not to be read */
    float beta;
    int m, n, k;                /* k is 0 if the computation has none */
    bool early;                 /* a launch of a step that can launch early may begin before the one
                                   enqueued before it has ended; others ignore it */
    int kernel;                 /* of a step that chooses among kernels: the number of the one to
                                   take, from 1 on; 0: the step chooses */
    struct CUstream_st *stream; /* every launch goes here */
} problem;

/* How a kernel divides its work, as far as the shapes of --trials follow from it. 0: it has none.
 */
typedef struct step_tile {
    int m, n;       /* rows and columns of D that a CTA computes at a time */
    int k;          /* columns of A and B that it loads at a time */
    int wide_n;     /* columns of a wider tile, which the rung takes where that is faster */
    int stages;     /* k-tiles that its ring holds */
    int group;      /* rows of tiles in a group of the schedule */
    int above;      /* tiles of a cluster above one another in D ... */
    int beside;     /* ... and side by side */
    bool swaps;     /* A and B */
    bool ping_pong; /* each consumer has a tile of its own */
    bool gathers;   /* it cuts tiles along k, and adds the parts of each: in its cluster ... */
    bool apart;     /* ... or, if each is in a cluster of its own, by a launch of its own */
} step_tile;

/* One rung. The three functions return 0, or print one line to stderr and return non-zero. */
typedef struct step {
    const char *name;  /* "v07" */
    const char *idea;  /* a few words: the one thing that this rung adds */
    const char *below; /* the rung that it grows from: "v14"; NULL: the one numbered below */
    enum computation computes;
    bool fp16_sums;         /* sums may be rounded to fp16 at every addition */
    bool block_scales;      /* of GEMM_FP8: a scale for each block, not one for a matrix */
    int promotion;          /* of GEMM_FP8: elements of k that the tensor cores add up together,
                               from 0 on and in order. fp32 adds up what they give, times the
                               block's scales if it has some. 0: all k */
    bool launches_early;    /* it obeys the problem's `early` */
    bool on_cuda_cores;     /* it leaves the tensor cores idle */
    bool computes_nothing;  /* its launches do not compute D, so that nothing is compared: for
                               parts of a kernel whose energy is measured. No rung sets it */
    int compute_capability; /* 90 means 9.0: it runs on this architecture only ... */
    bool and_later;         /* ... or on every later one, too */
    int min_shared_memory;  /* bytes for a CTA; 0 if all these GPUs have enough */
    struct {
        int m, n, k;
    } multiple;     /* the shape must be a multiple of these, in elements; 0: of 1 */
    bool any_row;   /* it takes rows of n and k elements that are not whole 16 bytes; else n and k
                       must also be multiples that make them so */
    int largest_k;  /* that the rung can address; 0: LARGEST_DIMENSION */
    step_tile tile; /* unless it chooses among kernels */

    /* Only for a rung that chooses among kernels, else 0 and NULL: */
    int kernels;                      /* how many it has */
    step_tile (*tile_of)(int kernel); /* of each, from 0 on */
    /* The number of the kernel that it takes for this shape, from 0 on; negative if that is not
     * known. For programs that time all kernels. NULL of a rung that ranks them: */
    int (*kernel_of)(const problem *problem);
    /* The numbers of those that it would rather take, the best first; of kernels that are alike at
     * this shape only one. Returns how many, at most `most`; 0 after printing a line. */
    int (*kernels_of)(const problem *problem, int *kernels, int most);
    /* Prints the best kernels for this shape, and what they are expected to cost. */
    int (*explain)(const problem *problem);

    /* Makes what a launch needs (tensor maps, attributes, schedules); never timed. *state is NULL
     * before, and may stay so. What it uploads or clears is ordered before all launches on
     * problem->stream, of whatever kind that stream is; another stream has to wait for it. */
    int (*prepare)(const problem *problem, void **state);
    /* Starts the kernel on problem->stream and returns at once. Launched many times per state, but
     * launches of one state must follow one another, as they do on one stream: kernels may write to
     * the state (s07 to s09 pad rows in it). Products that are to run at the same time need a
     * state each. After a launch that was aborted or failed, the state holds anything: release it
     * and prepare another. */
    int (*launch)(const problem *problem, void *state);
    /* Called whenever A and B have new contents, before the next launch; never timed. NULL in all
     * rungs, which read the operands as they are. For programs that need another layout. */
    int (*operands_made)(const problem *problem, void *state);
    /* Frees what prepare made, after the last launch has finished. Called if *state is not NULL,
     * also after a prepare that failed. */
    void (*release)(void *state);
} step;

/* The number of the kernel that a rung takes for this shape; negative if that is not known. */
static inline int step_kernel(const step *step, const problem *problem) {
    int kernel = -1;
    if (step->kernel_of != 0)
        return step->kernel_of(problem);
    return step->kernels_of(problem, &kernel, 1) > 0 ? kernel : -1;
}

/* Runs the program around a rung. Returns its exit status:
 * 0 verified, 1 wrong result or a failed call, 2 bad usage or unsupported shape,
 * 77 this machine cannot run it. */
int step_main(const step *step, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
