/* wrong_rung STEP MISTAKE FIRST WORD...: the program of a rung that is the second opinion in a
 * rung's clothes, and wrong in every way that the harness promises to find. It is the same for a
 * GPU and for the emulator, where its launches are plain functions of the host. STEP is an idea of
 * STEPS, FIRST the fewest launches before timing starts, and the words are the program's own
 * arguments. tests/test_step_main.py runs it. */
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/device.h"
#include "harness/reference.h"

static const step *subject; /* what the program is made of ... */
static const char *mistake; /* ... and what it does wrong */
static int first_launches;
static int launches; /* of the step */

static bool does(const char *wrong) { return strcmp(mistake, wrong) == 0; }

static int prepare(const problem *problem, void **state) {
    if (does("too much shared memory")) {
        step_cannot_run("a CTA needs too much"); /* as device/launch.cuh does */
    }
    *state = second_opinion_open(
        subject, subject->fp16_sums ? CONTENDER_NARROW_SUMS : CONTENDER_OTHER, problem);
    return 0;
}

static void release(void *state) { second_opinion_close(state); }

/* Overwrites bytes; two of 0x42 make 48.5 of a bf16, which no exact result is. */
static int spoil(const problem *problem, unsigned char *at, int byte, size_t count) {
    return cudaMemsetAsync(at, byte, count, problem->stream) != cudaSuccess;
}

/* Changes the last bit of D's first number in later launches, as it was in the first ones: those
 * may be waited for, timed ones may not, since the gate holds them. */
static int change_last_bit_later(const problem *problem, unsigned char *at) {
    static unsigned char *first;
    static unsigned char byte;
    first = launches == 1 ? at : first;
    if (at != first) {
        return 0;
    }
    if (launches > first_launches) {
        return spoil(problem, at, byte ^ 1, 1);
    }
    return cudaMemcpyAsync(&byte, at, 1, cudaMemcpyDeviceToHost, problem->stream) != cudaSuccess ||
           cudaStreamSynchronize(problem->stream) != cudaSuccess;
}

/* Adds what a beta of 0 multiplies; on the emulator, where D is in the host's memory. */
static int add_everything(const problem *problem) {
    float *d = problem->d;
    for (size_t i = 0; i < (size_t)problem->m * (size_t)problem->n; ++i) {
        d[i] += 0 * ((const float *)problem->c)[i];
    }
    return 0;
}

static int launch(const problem *problem, void *state) {
    const size_t element = problem->k == 0 ? 4 : 2;
    const size_t bytes = element * (size_t)problem->m * (size_t)problem->n;
    unsigned char *d = problem->d;
    struct problem elsewhere = *problem;
    const bool later = ++launches > first_launches;
    const bool last_trial = problem->m == 64 && problem->n == 320;
    if (does("refuses")) {
        fputs("v98: refuses to launch\n", stderr);
        return 1;
    }
    if (does("faults")) {
        elsewhere.d = (void *)((uintptr_t)1 << 46); /* nothing is mapped there */
    }
    if (!does("unwritten") && !(later && does("unwritten later"))) {
        second_opinion_launch(state, &elsewhere);
    }
    return does("a wrong element")        ? spoil(problem, d + bytes - 2, 0x42, 2)
           : does("a NaN")                ? spoil(problem, d + bytes / 4 * 2, 0xff, 2)
           : does("writes after D")       ? spoil(problem, d + bytes, 0, 2)
           : does("writes before D")      ? spoil(problem, d - 2, 0, 2)
           : does("wrong later") && later ? spoil(problem, d, 0x42, 2)
           : does("wrong in the last trial") && last_trial ? spoil(problem, d, 0x42, 2)
           : does("zeros later") && launches > 1           ? spoil(problem, d, 0, bytes)
           : does("last bit later")                        ? change_last_bit_later(problem, d)
           : does("reads all")                             ? add_everything(problem)
                                                           : 0;
}

/* The third kernel is the second one at every shape. */
static int kernel_of(const problem *problem) { return problem->kernel > 1 ? 1 : 0; }

static int kernels_of(const problem *problem, int *kernels, int most) {
    kernels[0] = kernel_of(problem);
    return most > 0;
}

static int explain(const problem *problem) {
    printf("%d x %d x %d\n", problem->m, problem->n, problem->k);
    return problem->k == 128;
}

#define FAKE(what, computation)                                                                    \
    .name = "v98", .idea = what, .computes = computation, .compute_capability = 90,                \
    .and_later = true, .prepare = prepare, .launch = launch, .release = release

static const step STEPS[] = {
    {FAKE("bf16", GEMM_BF16)},
    {FAKE("bf16 in tiles", GEMM_BF16), .multiple = {64, 64, 64}, .largest_k = 4096},
    {FAKE("bf16, any row", GEMM_BF16), .any_row = true},
    {FAKE("bf16, 3 kernels", GEMM_BF16), .kernels = 3, .kernel_of = kernel_of,
     .kernels_of = kernels_of, .explain = explain},
    {FAKE("bf16, unranked", GEMM_BF16), .kernels = 3, .kernel_of = kernel_of},
    {FAKE("bf16 in twelves", GEMM_BF16), .multiple = {.n = 12}},
    {FAKE("nothing", GEMM_BF16), .computes_nothing = true},
    {FAKE("shared memory", GEMM_BF16), .min_shared_memory = 1 << 30},
    {FAKE("fp16 sums", GEMM_FP16), .fp16_sums = true},
    {FAKE("addmm", ADDMM_FP16)},
    {FAKE("a transpose", TRANSPOSE_FP32)},
    {FAKE("one added", ADD_ONE_INT32)},
    {FAKE("fp8", GEMM_FP8)},
    {FAKE("fp8 in blocks", GEMM_FP8), .block_scales = true, .promotion = 128},
    {FAKE("a text to escape: \"raw\" \\ \t \xc3\xa9", GEMM_BF16), .below = "v97"},
    {FAKE("unknown", (enum computation)99)},
};

int main(int argc, char **argv) {
    enum { OWN = 4 }; /* arguments, after which the program's begin */
    for (size_t i = 0; argc >= OWN && i < sizeof STEPS / sizeof *STEPS; ++i) {
        subject = strcmp(STEPS[i].idea, argv[1]) == 0 ? &STEPS[i] : subject;
    }
    if (subject == NULL) {
        fputs("usage: wrong_rung STEP MISTAKE FIRST WORD...\n", stderr);
        return EXIT_FAILURE;
    }
    mistake = argv[2];
    first_launches = atoi(argv[3]);
    if (does("no room") && freopen("/dev/full", "w", stdout) == NULL) {
        return EXIT_FAILURE;
    }
    return step_main(subject, argc - OWN + 1, &argv[OWN - 1]);
}
