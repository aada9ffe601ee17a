/* The contract between a rung and everything else.
 *
 * A rung describes itself in one `step` record and its main() is one line:
 *
 *     int main(int argc, char **argv) { return step_main(&v07, argc, argv); }
 *
 * step_main() parses the command line, makes the operands, runs, checks, times and reports.
 * A program of your own may link a rung's object, bring a step_main() of its own and drive the
 * record through prepare, launch and release: nothing else of the harness is needed.
 */
#ifndef GEMM_LADDER_STEP_H
#define GEMM_LADDER_STEP_H

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* cudaStream_t points to it; a machine without CUDA passes NULL */

/* What a rung computes. All matrices are row-major and densely packed. */
enum computation {
    GEMM_BF16 = 1 /* D[m][n] = sum over k of A[m][k] * B[n][k]; bf16 in and out, fp32 sums */
};

/* One problem: the operands in device memory, 16-byte aligned, and their shape in elements. */
typedef struct problem {
    const void *a; /* [m][k] */
    const void *b; /* [n][k] */
    void *d;       /* [m][n] */
    int m;
    int n;
    int k;
    struct CUstream_st *stream; /* every launch goes here */
} problem;

/* One rung. The three functions return 0, or print one line to stderr and return non-zero. */
typedef struct step {
    const char *name; /* "v07" */
    const char *idea; /* a few words: the one thing that this rung adds */
    enum computation computes;
    int min_compute_capability; /* 90 means 9.0 */
    int max_compute_capability; /* the same as min for code that runs on one architecture only */
    int multiple_m;             /* the shape must be a multiple of these, in elements */
    int multiple_n;
    int multiple_k;

    /* Makes what a launch needs (tensor maps, attributes, schedules); never timed. *state is NULL
     * before, and may stay so. */
    int (*prepare)(const problem *problem, void **state);
    /* Starts the kernel on problem->stream and returns at once. Launched many times per state. */
    int (*launch)(const problem *problem, void *state);
    /* Frees what prepare made, after the last launch has finished. Called if *state is not NULL,
     * also when prepare failed half-way. */
    void (*release)(void *state);
} step;

/* Runs the program around a rung. Returns its exit status:
 * 0 verified, 1 wrong result or a failed call, 2 bad usage or unsupported shape,
 * 77 this machine cannot run it. */
int step_main(const step *step, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
