/* A rung that is the second opinion in a rung's clothes, and wrong in every way that the harness
 * promises to find: the same for a GPU and for the emulator, which has tests of its own. */
#ifndef GEMM_LADDER_TESTS_UNIT_FAKE_H
#define GEMM_LADDER_TESTS_UNIT_FAKE_H

#include "program.h"

#include <cuda_runtime_api.h>

#include "harness/reference.h"
#include "harness/timing.h"

enum {
    NONE,
    WRONG_ELEMENT,
    NAN_ELEMENT,
    UNWRITTEN,
    WRITES_BEHIND,
    WRITES_BEFORE,
    WRONG_LATER,
    WRONG_LAST_TRIAL, /* of a default run: the other process makes it */
    LAST_BIT_LATER,
    ALL_ZERO_LATER,
    READS_EVERYTHING, /* on the emulator alone, like what comes before it; of ADDMM */
    REFUSES,
    FAULTS
};

static int launches; /* of the step of this process */

/* The fewest launches before timing starts: one exact, and bounded ones on two copies. */
#ifndef FIRST_LAUNCHES
#define FIRST_LAUNCHES 3
#define ON_GPU true
#else
#define ON_GPU false
#endif

static inline int prepare(const problem *problem, void **state) {
    const bool fp16 = subject->fp16_sums && ON_GPU;
    *state = second_opinion_open(subject, fp16 ? CONTENDER_NARROW_SUMS : CONTENDER_OTHER, problem);
    return 0;
}

static inline void release(void *state) { second_opinion_close(state); }

/* Overwrites bytes; two of 0x42 make 48.5 of a bf16, which no exact result is. */
static inline int spoil(const problem *problem, unsigned char *at, int byte, size_t count) {
    return cudaMemsetAsync(at, byte, count, problem->stream) != cudaSuccess;
}

/* Changes the last bit of D's first number in later launches, as it was in the first ones: those
 * may be waited for, timed ones may not, since the gate holds them. */
static inline int change_last_bit_later(const problem *problem, unsigned char *at) {
    static unsigned char *first;
    static unsigned char byte;
    first = launches == 1 ? at : first;
    if (at != first) {
        return 0;
    }
    if (launches > FIRST_LAUNCHES) {
        return spoil(problem, at, byte ^ 1, 1);
    }
    return cudaMemcpyAsync(&byte, at, 1, cudaMemcpyDeviceToHost, problem->stream) != cudaSuccess ||
           cudaStreamSynchronize(problem->stream) != cudaSuccess;
}

/* beta / alpha * C, as if neither could be 0: alpha * s + beta * c with what is multiplied by 0. */
static inline int add_everything(const problem *problem) {
    const size_t count = (size_t)problem->m * (size_t)problem->n;
    float *d = problem->d;
    for (size_t i = 0; i < count; ++i) {
        d[i] += 0 * ((const float *)problem->c)[i];
    }
    return 0;
}

static inline int launch(const problem *problem, void *state) {
    const size_t element = problem->k == 0 ? 4 : 2;
    const size_t bytes = element * (size_t)problem->m * (size_t)problem->n;
    unsigned char *d = problem->d;
    struct problem elsewhere = *problem;
    const bool later = ++launches > FIRST_LAUNCHES;
    if (mistake == REFUSES) {
        fputs("v98: refuses to launch\n", stderr);
        return 1;
    }
    if (mistake == FAULTS) {
        elsewhere.d = (void *)((uintptr_t)1 << 46); /* nothing is mapped there */
    }
    if (mistake != UNWRITTEN) {
        second_opinion_launch(state, &elsewhere);
    }
    switch (mistake) {
    case WRONG_ELEMENT:
        return spoil(problem, d + bytes - 2, 0x42, 2);
    case NAN_ELEMENT:
        return spoil(problem, d + bytes / 4 * 2, 0xff, 2);
    case WRITES_BEHIND:
        return spoil(problem, d + bytes, 0, 2);
    case WRITES_BEFORE:
        return spoil(problem, d - 2, 0, 2);
    case WRONG_LAST_TRIAL:
        return problem->m == 64 && problem->n == 320 ? spoil(problem, d, 0x42, 2) : 0;
    case WRONG_LATER:
        return later ? spoil(problem, d, 0x42, 2) : 0;
    case LAST_BIT_LATER:
        return change_last_bit_later(problem, d);
    case ALL_ZERO_LATER:
        return launches > 1 ? spoil(problem, d, 0, bytes) : 0;
    case READS_EVERYTHING:
        return add_everything(problem);
    default:
        return 0;
    }
}

#define FAKE                                                                                       \
    .name = "v98", .idea = "the second opinion in a rung's clothes",                               \
    .max_compute_capability = 999, .prepare = prepare, .launch = launch, .release = release

static const step FP16 = {FAKE, .computes = GEMM_FP16, .fp16_sums = true,
                          .min_compute_capability = 80};
static const step ADDMM = {FAKE, .computes = ADDMM_FP16, .min_compute_capability = 80};
static const step TRANSPOSE = {FAKE, .computes = TRANSPOSE_FP32, .min_compute_capability = 80};
static const step ADD_ONE = {FAKE, .computes = ADD_ONE_INT32, .min_compute_capability = 80};

#define RIGHT STATUS_VERIFIED
#define WRONG STATUS_FAILED
#define USAGE STATUS_USAGE
#define CANNOT STATUS_CANNOT_RUN

/* alpha and beta, with 0 and 1 among them, added to the words. */
static inline void expect_scalars(const char *shape) {
    static const char *const scalars[] = {"0", "1", "-2.5"};
    char words[128];
    char says[256];
    for (int i = 0; i < 9; ++i) {
        const char *alpha = scalars[i / 3];
        const char *beta = scalars[i % 3];
        snprintf(words, sizeof words, "%s --alpha %s --beta %s", shape, alpha, beta);
        snprintf(says, sizeof says,
                 "verified   exact: |equal; bounded: largest|alpha=%s beta=%s, A and B fp16, C and "
                 "D fp32, fp32 "
                 "acc",
                 alpha, beta);
        expect_run(&(run){NULL, &ADDMM, NONE, words, RIGHT, says});
    }
}

/* Runs by --runs: the parts of `says` are in the output in this order, and no problem after them.
 */
static inline void expect_lines(const step *step, int wrong, const char *lines, int status,
                                const char *says) {
    char path[] = "/tmp/gemm-ladder-runs-XXXXXX";
    char words[64];
    char parts[256];
    const int file = mkstemp(path);
    EXPECT(file >= 0 && write(file, lines, strlen(lines)) > 0, "%s", path);
    close(file);
    snprintf(words, sizeof words, "--runs %s", path);
    const int found = status_of(step, wrong, words);
    EXPECT(found == status, "'%s' exits with %d: %s", lines, found, output);
    const char *at = output;
    snprintf(parts, sizeof parts, "%s", says);
    for (char *part = strtok(parts, "|"); part != NULL; part = strtok(NULL, "|")) {
        const char *next = strstr(at, part);
        EXPECT(next != NULL, "'%s' is missing: %s", part, output);
        at = next == NULL ? at : next + strlen(part);
    }
    EXPECT(strstr(at, "problem") == NULL, "'%s' goes on: %s", lines, output);
    unlink(path);
}

/* A run with --json in a directory of its own, where nothing else is left; and, unless it is NULL,
 * what is in the file, with | between. Leaves the file's text in recorded. */
static char recorded[65536];

static inline void expect_file(const step *step, const char *words, int status, const char *says,
                               const char *has) {
    char directory[] = "/tmp/gemm-ladder-main-XXXXXX";
    char path[64];
    char all[512];
    char parts[512];
    EXPECT(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/x.json", directory);
    snprintf(all, sizeof all, "%s --json %s", words, path);
    expect_run(&(run){NULL, step, NONE, all, status, says});
    FILE *file = fopen(path, "r");
    EXPECT((file != NULL) == (has != NULL), "whether there is a file in %s", directory);
    recorded[0] = '\0';
    if (file != NULL) {
        recorded[fread(recorded, 1, sizeof recorded - 1, file)] = '\0';
        fclose(file);
        unlink(path);
    }
    snprintf(parts, sizeof parts, "%s", has == NULL ? "" : has);
    for (const char *part = strtok(parts, "|"); part != NULL; part = strtok(NULL, "|")) {
        EXPECT(strstr(recorded, part) != NULL, "%s is not in the file", part);
    }
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

#endif
