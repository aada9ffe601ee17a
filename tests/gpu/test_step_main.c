/* The whole program on a GPU, around steps that are right, and wrong in every way that the harness
 * promises to find. Each run is a process of its own: a fault spoils the process that made it.
 * Without a GPU every case is skipped. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/test.h"
#include "harness/second_opinion.h"
#include "harness/exit_status.h"
#include "harness/timing.h"
#include "step.h"

enum { MOST_ARGUMENTS = 16 };

enum mistake {
    NONE,
    WRONG_ELEMENT,
    NAN_ELEMENT,
    UNWRITTEN,
    WRITES_BEHIND,
    WRITES_BEFORE,
    WRONG_WHEN_TIMED,
    LAST_BIT_WHEN_TIMED,
    REFUSES,
    FAULTS
};

/* What the step of this process does. */
static enum mistake mistake;
static int launches;
static enum computation computes;
static bool fp16_sums;

/* The fewest launches before timing starts: one exact, and bounded ones on two copies. */
enum { LAUNCHES_BEFORE_TIMING = 3 };

static int prepare(const problem *problem, void **state) {
    *state = second_opinion_open(computes, fp16_sums ? CONTENDER_FP16_SUMS : CONTENDER_OTHER,
                                 problem->stream);
    return *state == NULL;
}

static void release(void *state) { second_opinion_close(state); }

/* Overwrites two bytes. 0x42 makes 48.5 of a bf16, which no exact result is. */
static int spoil(const problem *problem, unsigned char *at, int byte) {
    return cudaMemsetAsync(at, byte, 2, problem->stream) != cudaSuccess;
}

/* Changes the last bit of D's first number in timed launches, as it was in the ones before: those
 * may wait for it, these may not, since the gate holds them. */
static int change_last_bit_when_timed(const problem *problem, unsigned char *at) {
    static unsigned char *first;
    static unsigned char byte;
    if (launches <= LAUNCHES_BEFORE_TIMING) {
        if (launches == 1) {
            first = at;
        }
        return at == first && (cudaMemcpyAsync(&byte, at, 1, cudaMemcpyDeviceToHost,
                                               problem->stream) != cudaSuccess ||
                               cudaStreamSynchronize(problem->stream) != cudaSuccess);
    }
    return at == first && cudaMemsetAsync(at, byte ^ 1, 1, problem->stream) != cudaSuccess;
}

static int launch(const problem *problem, void *state) {
    const size_t element = problem->k == 0 ? 4 : 2;
    const size_t bytes = element * (size_t)problem->m * (size_t)problem->n;
    unsigned char *d = problem->d;
    struct problem elsewhere = *problem;
    ++launches;
    switch (mistake) {
    case UNWRITTEN:
        return 0;
    case REFUSES:
        fputs("v98: refuses to launch\n", stderr);
        return 1;
    case FAULTS:
        elsewhere.d = (void *)((uintptr_t)1 << 46); /* nothing is mapped there */
        return second_opinion_launch(state, &elsewhere);
    default:
        break;
    }
    if (second_opinion_launch(state, problem) != 0) {
        return 1;
    }
    switch (mistake) {
    case WRONG_ELEMENT:
        return spoil(problem, d + bytes - 2, 0x42);
    case NAN_ELEMENT:
        return spoil(problem, d + bytes / 4 * 2, 0xff);
    case WRITES_BEHIND:
        return spoil(problem, d + bytes, 0);
    case WRITES_BEFORE:
        return spoil(problem, d - 2, 0);
    case WRONG_WHEN_TIMED:
        return launches > LAUNCHES_BEFORE_TIMING ? spoil(problem, d, 0x42) : 0;
    case LAST_BIT_WHEN_TIMED:
        return change_last_bit_when_timed(problem, d);
    default:
        return 0;
    }
}

static const step fake = {.name = "v98",
                          .idea = "cuBLAS in a rung's clothes",
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .max_compute_capability = 90,
                          .prepare = prepare,
                          .launch = launch,
                          .release = release};

static const step fake_fp16 = {.name = "v98",
                               .idea = "cuBLAS with fp16 sums",
                               .computes = GEMM_FP16,
                               .fp16_sums = true,
                               .min_compute_capability = 80,
                               .max_compute_capability = 999,
                               .prepare = prepare,
                               .launch = launch,
                               .release = release};

static const step fake_addmm = {.name = "v98",
                                .idea = "cuBLASLt with alpha, beta and C",
                                .computes = ADDMM_FP16,
                                .min_compute_capability = 80,
                                .max_compute_capability = 999,
                                .prepare = prepare,
                                .launch = launch,
                                .release = release};

static const step fake_transpose = {.name = "v98",
                                    .idea = "cublasSgeam in a rung's clothes",
                                    .computes = TRANSPOSE_FP32,
                                    .min_compute_capability = 80,
                                    .max_compute_capability = 999,
                                    .prepare = prepare,
                                    .launch = launch,
                                    .release = release};

static const step fake_add_one = {.name = "v98",
                                  .idea = "a plain kernel in a rung's clothes",
                                  .computes = ADD_ONE_INT32,
                                  .min_compute_capability = 80,
                                  .max_compute_capability = 999,
                                  .prepare = prepare,
                                  .launch = launch,
                                  .release = release};

static const step *subject = &fake; /* what the program is made of */

static char output[16384]; /* of the program: stdout and stderr */

static void run_program(const char *words, int descriptor) {
    char storage[512];
    char name[] = "v98";
    char *argv[MOST_ARGUMENTS] = {name};
    int argc = 1;
    snprintf(storage, sizeof storage, "%s", words);
    for (char *word = strtok(storage, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (dup2(descriptor, STDOUT_FILENO) < 0 || dup2(descriptor, STDERR_FILENO) < 0) {
        _exit(99);
    }
    computes = subject->computes;
    fp16_sums = subject->fp16_sums;
    const int status = step_main(subject, argc, argv);
    fflush(NULL);
    _exit(status);
}

/* The exit status of the program with this mistake, or -1 if it did not end by itself. */
static int status_of(enum mistake which, const char *words) {
    int ends[2];
    int status = 0;
    size_t length = 0;
    output[0] = '\0';
    if (pipe(ends) != 0) {
        return -1;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        mistake = which;
        run_program(words, ends[1]);
    }
    close(ends[1]);
    ssize_t got;
    while ((got = read(ends[0], output + length, sizeof output - 1 - length)) > 0) {
        length += (size_t)got;
    }
    output[length] = '\0';
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

static void expect_run(enum mistake which, const char *words, int expected, const char *says) {
    const int status = status_of(which, words);
    EXPECT(status == expected, "exit status %d: %s", status, output);
    EXPECT(strstr(output, says) != NULL, "'%s' is missing: %s", says, output);
    EXPECT((strstr(output, "verified  ") != NULL) == (expected == STATUS_VERIFIED), "%s", output);
}

static void right(void) {
    expect_run(NONE, "--m 200 --n 264 --k 72 --protocol none", STATUS_VERIFIED,
               "exact: 52800 of 52800 equal; bounded: largest error");
    expect_run(NONE, "--m 1 --n 8 --k 8 --protocol none --inputs uniform", STATUS_VERIFIED,
               "exact: 8 of 8 equal");
    expect_run(NONE, "--m 264 --n 200 --k 72 --protocol none --inputs integers", STATUS_VERIFIED,
               "exact: 105600 of 105600 equal; cuBLAS");
    expect_run(NONE, "--size 1024 --protocol none --check sample", STATUS_VERIFIED,
               "exact: 69636 of 69636 equal");
}

static void fp16(void) {
    subject = &fake_fp16;
    expect_run(NONE, "--m 200 --n 264 --k 72 --protocol none", STATUS_VERIFIED,
               "exact: 52800 of 52800 equal; bounded: largest error");
    expect_run(NONE, "--m 512 --n 256 --k 40960 --protocol none", STATUS_VERIFIED, "cuBLAS agrees");
    expect_run(NONE, "--size 1024 --rounds 2 --check sample", STATUS_VERIFIED,
               "of cuBLAS with fp16 sums");
    expect_run(WRONG_ELEMENT, "--m 8 --n 16 --k 8", STATUS_FAILED, "1 of 128 differ");
    subject = &fake;
}

static void addmm(void) {
    static const char *const scalars[] = {"0", "1", "-2.5"};
    char words[128];
    subject = &fake_addmm;
    for (int i = 0; i < 9; ++i) {
        snprintf(words, sizeof words, "--m 200 --n 260 --k 72 --alpha %s --beta %s --rounds 1",
                 scalars[i / 3], scalars[i % 3]);
        expect_run(NONE, words, STATUS_VERIFIED, "exact: 52000 of 52000 equal; bounded: largest");
    }
    subject = &fake;
}

static void moves(void) {
    subject = &fake_transpose;
    expect_run(NONE, "--m 200 --n 264 --protocol none", STATUS_VERIFIED,
               "bits exact: 52800 of 52800 equal; normal exact: 105600 of 105600 equal; "
               "cublasSgeam agrees");
    expect_run(NONE, "--m 4 --n 131072 --protocol none --inputs bits", STATUS_VERIFIED,
               "verified   bits exact: 1048576 of 1048576 equal; cublasSgeam");
    expect_run(NONE, "--m 4096 --n 2048 --rounds 2", STATUS_VERIFIED, "GB/s");
    EXPECT(strstr(output, "of the device copy") != NULL && strstr(output, "memory  ") != NULL &&
               strstr(output, "of cublasSgeam") != NULL && strstr(output, "TFLOPS") == NULL,
           "%s", output);
    expect_run(WRONG_ELEMENT, "--m 200 --n 264 --rounds 1", STATUS_FAILED,
               "1 of 52800 differ; first at [263][199]: got 0x");
    expect_run(UNWRITTEN, "--m 200 --n 264 --rounds 1", STATUS_FAILED, "52800 of 52800 differ");
    expect_run(WRITES_BEHIND, "--m 200 --n 264 --rounds 1", STATUS_FAILED,
               "the byte 1 after its last one");
    expect_run(WRONG_WHEN_TIMED, "--m 200 --n 264 --rounds 1", STATUS_FAILED, "(after timing)");
    subject = &fake_add_one;
    expect_run(NONE, "--m 3 --n 4 --protocol none", STATUS_VERIFIED, "bits exact: 12 of 12 equal");
    expect_run(NONE, "--m 4096 --n 2048 --rounds 1", STATUS_VERIFIED, "of a plain kernel");
    expect_run(WRONG_ELEMENT, "--m 3 --n 4 --rounds 1", STATUS_FAILED, "first at [2][3]: got 0x");
    subject = &fake;
}

/* Whether the file at path has this text in it. */
static bool file_has(const char *path, const char *text) {
    static char content[65536];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    return strstr(content, text) != NULL;
}

static void timed(const char *protocol, const char *rounds, const char *says) {
    char directory[] = "/tmp/gemm-ladder-gpu-XXXXXX";
    char path[64];
    char words[256];
    EXPECT(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/x.json", directory);
    snprintf(words, sizeof words, "--m 1024 --n 2048 --k 512 --protocol %s --rounds %s --json %s",
             protocol, rounds, path);
    expect_run(NONE, words, STATUS_VERIFIED, "timed buffers checked again");
    EXPECT(strstr(output, says) != NULL, "'%s' is missing: %s", says, output);
    EXPECT(strstr(output, "ratio ") != NULL && strstr(output, "TFLOPS") != NULL, "%s", output);
    EXPECT(file_has(path, "\"verified\": true"), "no JSON of a verified run in %s", path);
    EXPECT(file_has(path, "\"ratio_to_cublas\": {"), "no ratio in %s", path);
    unlink(path);
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

/* Four launches of this product take a few microseconds: more have to be timed. */
static void burst(void) {
    static const char before[] = "2 rounds of ";
    int launches = 0;
    int length = 0;
    timed("burst", "2", before);
    const char *found = strstr(output, before);
    EXPECT(found != NULL &&
               sscanf(found + strlen(before), "%d launches, burst%n", &launches, &length) == 1 &&
               length > 0,
           "no number of launches: %s", output);
    EXPECT(launches > BURST_LEAST_LAUNCHES && launches <= BURST_MOST_LAUNCHES, "%d launches",
           launches);
    expect_run(NONE, "--size 4096 --check sample --rounds 1", STATUS_VERIFIED,
               "1 round of 4 launches, burst");
}

static void heuristics_of_cublaslt(void) {
    expect_run(NONE, "--m 1024 --n 512 --k 256 --rounds 2 --heuristics 5", STATUS_VERIFIED,
               "of cuBLASLt's best");
    EXPECT(strstr(output, "that were timed") != NULL, "%s", output);
    EXPECT(strstr(output, ": nvjet_") != NULL || strstr(output, "gemm") != NULL, "no name: %s",
           output);
    char zeros[ALGORITHM_DIGITS + 64];
    snprintf(zeros, sizeof zeros, "--size 512 --rounds 1 --algorithm %0*d", (int)ALGORITHM_DIGITS,
             0);
    expect_run(NONE, zeros, STATUS_FAILED, "--algorithm: cuBLASLt does not take it for m=512");
    subject = &fake_fp16;
    expect_run(NONE, "--size 512 --rounds 1 --heuristics 3", STATUS_VERIFIED, "of cuBLASLt's best");
    subject = &fake;
}

/* Of the file that a run has recorded, what follows the first of the words, then the next ... */
static const char *recorded(const char *path, const char *const *words, size_t count) {
    static char text[16384];
    FILE *file = fopen(path, "r");
    size_t length = 0;
    if (file != NULL) {
        length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    text[length] = '\0';
    const char *found = text;
    for (size_t i = 0; i < count && found != NULL; ++i) {
        found = strstr(found, words[i]);
        found = found == NULL ? NULL : found + strlen(words[i]);
    }
    return found == NULL ? "" : found;
}

/* In the search a kernel takes as long as in a burst, and not as long as enqueueing it; and what
 * one process finds, another one takes by its digits. */
static void search_of_cublaslt(void) {
    static const char *const SEARCHED[] = {"\"winner\"", "\"seconds\": "};
    static const char *const TIMED[] = {"\"timing\"", "\"cublaslt\"", "\"seconds\": ["};
    static const char *const DIGITS[] = {"\"winner\"", "\"algorithm\": \""};
    static const double TOLERANCE = 0.25;
    char path[] = "/tmp/gemm-ladder-XXXXXX";
    char words[256];
    const int file = mkstemp(path);
    EXPECT(file >= 0 && close(file) == 0, "no temporary file");
    snprintf(words, sizeof words, "--size 512 --rounds 1 --heuristics 4 --json %s", path);
    expect_run(NONE, words, STATUS_VERIFIED, "of cuBLASLt's best");
    const double searched = strtod(recorded(path, SEARCHED, 2), NULL);
    const double timed = strtod(recorded(path, TIMED, 3), NULL);
    EXPECT(fabs(searched / timed - 1) <= TOLERANCE, "%g s in the search, %g s in the burst",
           searched, timed);
    char digits[ALGORITHM_DIGITS + 1];
    snprintf(digits, sizeof digits, "%s", recorded(path, DIGITS, 2));
    EXPECT(strlen(digits) == ALGORITHM_DIGITS, "recorded is '%s'", digits);
    snprintf(words, sizeof words, "--size 512 --rounds 1 --algorithm %s", digits);
    expect_run(NONE, words, STATUS_VERIFIED, "of cuBLASLt's best");
    EXPECT(unlink(path) == 0, "%s stays", path);
}

static void sustained(void) { timed("sustained", "1", "1 round, sustained"); }

static void calls(void) {
    expect_run(NONE, "--size 512 --protocol call --rounds 2", STATUS_VERIFIED,
               "2 rounds of 21 calls");
}

#define SMALL "--m 200 --n 264 --k 72 --rounds 1"

static void wrong_element(void) {
    expect_run(WRONG_ELEMENT, SMALL, STATUS_FAILED,
               "WRONG      exact: 1 of 52800 differ; first at [199][263]: got 48.5, expected ");
    expect_run(WRONG_ELEMENT, "--size 1024 --check sample", STATUS_FAILED, "[1023][1023]");
}

static void nan_element(void) {
    expect_run(NAN_ELEMENT, SMALL, STATUS_FAILED, "got nan");
    expect_run(NAN_ELEMENT, "--m 1000 --n 1000 --k 64 --check sample", STATUS_FAILED, "WRONG");
}

static void unwritten(void) {
    expect_run(UNWRITTEN, SMALL, STATUS_FAILED, "exact: 52800 of 52800 differ");
}

static void overruns(void) {
    expect_run(WRITES_BEHIND, SMALL, STATUS_FAILED,
               "D of copy 0: the byte 1 after its last one was overwritten");
    expect_run(WRITES_BEFORE, SMALL, STATUS_FAILED,
               "D of copy 0: the byte 2 before its first one was overwritten");
}

static void wrong_when_timed(void) {
    expect_run(WRONG_WHEN_TIMED, SMALL, STATUS_FAILED, "(after timing)");
}

/* Far within the bound of an fp32, so that nothing but the digest can tell. */
static void other_bits_when_timed(void) {
    subject = &fake_addmm;
    expect_run(LAST_BIT_WHEN_TIMED, SMALL, STATUS_FAILED,
               "WRONG      two launches on the same inputs gave different bits: digests 0x");
    subject = &fake;
}

static void failed_calls(void) {
    expect_run(REFUSES, SMALL, STATUS_FAILED, "v98: refuses to launch");
    expect_run(FAULTS, SMALL, STATUS_FAILED, " failed: ");
}

static void too_large(void) {
    expect_run(NONE, "--m 1073741823 --n 1073741824 --k 8", STATUS_USAGE, "of GPU memory");
    expect_run(NONE, "--m 1048576 --n 1048576 --k 8", STATUS_USAGE, "--check sample");
}

static void too_little_shared_memory(void) {
    step wants_more = fake;
    wants_more.min_shared_memory = 1 << 30;
    subject = &wants_more;
    expect_run(NONE, SMALL, STATUS_CANNOT_RUN, "with 1048576 KB of shared memory for a CTA, and");
    subject = &fake;
}

static void no_such_gpu(void) { expect_run(NONE, "--device 1000", STATUS_USAGE, "--device 1000"); }

typedef struct test_case {
    const char *name;
    void (*body)(void);
} test_case;

static const test_case CASES[] = {
    {"gpu program: a right step is verified", right},
    {"gpu program: fp16, and fp16 sums", fp16},
    {"gpu program: alpha, beta and C", addmm},
    {"gpu program: matrices that are moved", moves},
    {"gpu program: burst timing", burst},
    {"gpu program: sustained timing", sustained},
    {"gpu program: the time of a call", calls},
    {"gpu program: the best of cuBLASLt's algorithms", heuristics_of_cublaslt},
    {"gpu program: the search among cuBLASLt's algorithms", search_of_cublaslt},
    {"gpu program: a wrong element is found", wrong_element},
    {"gpu program: a NaN is found", nan_element},
    {"gpu program: an output that is not written is found", unwritten},
    {"gpu program: writes beside the output are found", overruns},
    {"gpu program: a wrong result during timing is found", wrong_when_timed},
    {"gpu program: one other bit in a timed launch is found", other_bits_when_timed},
    {"gpu program: failed calls exit with 1", failed_calls},
    {"gpu program: a shape that does not fit exits with 2", too_large},
    {"gpu program: a GPU that is not there exits with 2", no_such_gpu},
    {"gpu program: a GPU with too little shared memory exits with 77", too_little_shared_memory},
};

int main(void) {
    const int status = status_of(NONE, "--m 8 --n 8 --k 8 --protocol none");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
        if (status == STATUS_CANNOT_RUN) {
            skip_case(CASES[i].name, "no GPU of compute capability 9.0");
        } else {
            run_case(CASES[i].name, CASES[i].body);
        }
    }
    return test_result();
}
