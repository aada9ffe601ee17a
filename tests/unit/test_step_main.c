/* The whole program for the emulator, around steps that are right, and wrong in every way that the
 * harness promises to find. Their launches are plain functions of the host: the emulator has tests
 * of its own. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/exit_status.h"
#include "harness/second_opinion.h"
#include "step.h"
#include "test.h"

enum { MOST_ARGUMENTS = 16 };

enum mistake {
    NONE,
    WRONG_ELEMENT,
    WRONG_THIRD_TIME,
    LAST_BIT_THIRD_TIME,
    NAN_ELEMENT,
    UNWRITTEN,
    REFUSES,
    ALL_ZERO,
    READS_EVERYTHING
};

/* What the step of this process does. */
static enum mistake mistake;
static int launches;
static enum computation computes;

static int prepare(const problem *problem, void **state) {
    *state = second_opinion_open(computes, CONTENDER_OTHER, problem->stream);
    return *state == NULL;
}

static void release(void *state) { second_opinion_close(state); }

/* beta / alpha * C, as if neither could be 0: alpha * s + beta * c with what is multiplied by 0. */
static void add_everything(const problem *problem) {
    const size_t count = (size_t)problem->m * (size_t)problem->n;
    float *d = problem->d;
    for (size_t i = 0; i < count; ++i) {
        d[i] += 0 * ((const float *)problem->c)[i];
    }
}

/* Overwrites two bytes. 0x42 makes 48.5 of a bf16, which no exact result is. */
static void spoil(unsigned char *at, int byte) { memset(at, byte, 2); }

static int launch(const problem *problem, void *state) {
    const size_t element = problem->k == 0 ? 4 : 2;
    const size_t bytes = element * (size_t)problem->m * (size_t)problem->n;
    unsigned char *d = problem->d;
    ++launches;
    if (mistake == UNWRITTEN) {
        return 0;
    }
    if (mistake == REFUSES) {
        fputs("v98: refuses to launch\n", stderr);
        return 1;
    }
    second_opinion_launch(state, problem);
    if (mistake == WRONG_ELEMENT || (mistake == WRONG_THIRD_TIME && launches == 3)) {
        spoil(d + bytes - 2, 0x42);
    } else if (mistake == LAST_BIT_THIRD_TIME && launches == 3) {
        *d ^= 1;
    } else if (mistake == NAN_ELEMENT) {
        spoil(d + bytes / 4 * 2, 0xff);
    } else if (mistake == ALL_ZERO && launches == 2) { /* in the bounded check */
        memset(d, 0, bytes);
    } else if (mistake == READS_EVERYTHING) {
        add_everything(problem);
    }
    return 0;
}

static const step fake = {.name = "v98",
                          .idea = "a host product in a rung's clothes",
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .max_compute_capability = 90,
                          .multiple_m = 64,
                          .multiple_n = 64,
                          .multiple_k = 64,
                          .prepare = prepare,
                          .launch = launch,
                          .release = release};

static const step fake_fp16 = {.name = "v98",
                               .idea = "the same in fp16",
                               .computes = GEMM_FP16,
                               .fp16_sums = true,
                               .min_compute_capability = 80,
                               .max_compute_capability = 999,
                               .prepare = prepare,
                               .launch = launch,
                               .release = release};

static const step fake_addmm = {.name = "v98",
                                .idea = "with alpha, beta and C",
                                .computes = ADDMM_FP16,
                                .min_compute_capability = 80,
                                .max_compute_capability = 999,
                                .prepare = prepare,
                                .launch = launch,
                                .release = release};

static const step fake_transpose = {.name = "v98",
                                    .idea = "a transpose",
                                    .computes = TRANSPOSE_FP32,
                                    .min_compute_capability = 90,
                                    .max_compute_capability = 90,
                                    .prepare = prepare,
                                    .launch = launch,
                                    .release = release};

static const step fake_add_one = {.name = "v98",
                                  .idea = "adds one",
                                  .computes = ADD_ONE_INT32,
                                  .min_compute_capability = 90,
                                  .max_compute_capability = 90,
                                  .prepare = prepare,
                                  .launch = launch,
                                  .release = release};

static const step *subject = &fake; /* what the program is made of */

static char output[16384];    /* of the program: stdout and stderr */
static const char *output_to; /* then stdout goes there */

/* In the child: runs the program with the words as its command line. */
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
    if (output_to != NULL && freopen(output_to, "w", stdout) == NULL) {
        _exit(99);
    }
    computes = subject->computes;
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
    expect_run(NONE, "--m 64 --n 128 --k 64 --policy eager", STATUS_VERIFIED,
               "exact: 8192 of 8192 equal; bounded: largest error");
    EXPECT(strstr(output, "the host product agrees\n") != NULL, "%s", output);
    EXPECT(strstr(output, "no speed is measured") != NULL, "%s", output);
    EXPECT(strstr(output, "TFLOPS") == NULL && strstr(output, "cuBLAS") == NULL, "%s", output);
    expect_run(NONE, "--size 64 --policy eager --inputs integers", STATUS_VERIFIED,
               "exact: 4096 of 4096 equal; the host product");
    expect_run(NONE, "--size 320 --policy eager --check sample", STATUS_VERIFIED,
               "exact: 69636 of 69636 equal");
}

static void policies(void) {
    expect_run(NONE, "--size 64", STATUS_VERIFIED, "policies   eager, lazy, newest-first");
    EXPECT(strstr(output, "random") == NULL, "%s", output);
    EXPECT(strstr(output, "counted under the policy eager") != NULL, "%s", output);
    expect_run(NONE, "--size 64 --policy lazy", STATUS_VERIFIED, "policies   lazy\n");
    expect_run(NONE, "--size 64 --policy random --seed 7", STATUS_VERIFIED,
               "policies   random with seed 7\n");
}

static void wrong(void) {
    expect_run(WRONG_ELEMENT, "--size 64", STATUS_FAILED, "1 of 4096 differ; first at [63][63]");
    EXPECT(strstr(output, "policy     eager\n") != NULL, "%s", output);
    expect_run(WRONG_THIRD_TIME, "--size 64", STATUS_FAILED, "policy     newest-first\n");
    expect_run(NAN_ELEMENT, "--size 64", STATUS_FAILED, "got nan");
    expect_run(UNWRITTEN, "--size 64", STATUS_FAILED, "4096 of 4096 differ");
    expect_run(REFUSES, "--size 64", STATUS_FAILED, "refuses to launch");
}

/* One bit of an fp32, far within the bound, under one of the policies. */
static void other_bits(void) {
    subject = &fake_addmm;
    expect_run(NONE, "--m 5 --n 20 --k 72 --alpha 0.3", STATUS_VERIFIED, "bounded");
    expect_run(LAST_BIT_THIRD_TIME, "--m 5 --n 20 --k 72 --alpha 0.3", STATUS_FAILED,
               "WRONG      two launches on the same inputs gave different bits: digests 0x");
    EXPECT(strstr(output, "policy     newest-first\n") != NULL, "%s", output);
    subject = &fake;
}

/* Exit status 2 and one line, which mentions something. */
static void expect_refused(const char *words, const char *mentions) {
    expect_run(NONE, words, STATUS_USAGE, mentions);
    EXPECT(strchr(output, '\n') == output + strlen(output) - 1, "'%s' says: %s", words, output);
    EXPECT(strncmp(output, "v98: ", 5) == 0, "'%s' says: %s", words, output);
}

static void bad_usage(void) {
    expect_refused("--bogus", "--bogus");
    expect_refused("--protocol burst", "the emulator measures no time");
    expect_refused("--rounds 3", "the emulator measures no time");
    expect_refused("--device 1", "--device 1");
    expect_refused("--policy bogus", "eager or lazy");
    expect_refused("--m 100", "m=100 is not a multiple of 64");
    expect_refused("--json /nonexistent/x.json", "/nonexistent/x.json");
}

static void fp16(void) {
    subject = &fake_fp16;
    expect_run(NONE, "--m 3 --n 24 --k 40 --policy eager", STATUS_VERIFIED,
               "exact: 72 of 72 equal");
    EXPECT(strstr(output, "fp16 in and out, fp16 accumulate\n") != NULL, "%s", output);
    EXPECT(strstr(output, "compute capability 8.0") != NULL, "%s", output);
    expect_run(NONE, "--m 8 --n 16 --k 40960 --policy eager", STATUS_VERIFIED, "128 of 128 equal");
    expect_run(ALL_ZERO, "--m 8 --n 16 --k 1024 --policy eager", STATUS_FAILED,
               "outside the bound");
    expect_run(WRONG_ELEMENT, "--m 8 --n 16 --k 8", STATUS_FAILED, "1 of 128 differ");
    expect_refused("--n 12", "n=12 is not a multiple of 8");
    expect_refused("--alpha 2", "takes no alpha and no beta");
    subject = &fake;
}

static void addmm(void) {
    static const char *const scalars[] = {"0", "1", "-2.5"};
    char words[128];
    subject = &fake_addmm;
    for (int i = 0; i < 9; ++i) {
        snprintf(words, sizeof words, "--m 5 --n 20 --k 72 --alpha %s --beta %s --policy eager",
                 scalars[i / 3], scalars[i % 3]);
        expect_run(NONE, words, STATUS_VERIFIED, "exact: 100 of 100 equal; bounded: largest");
        snprintf(words, sizeof words, "alpha=%s beta=%s, A and B fp16, C and D fp32, fp32 acc",
                 scalars[i / 3], scalars[i % 3]);
        EXPECT(strstr(output, words) != NULL, "'%s' is missing: %s", words, output);
    }
    expect_run(READS_EVERYTHING, "--m 5 --n 20 --k 72 --alpha 1", STATUS_VERIFIED, "exact");
    expect_run(READS_EVERYTHING, "--m 5 --n 20 --k 72 --beta 0", STATUS_FAILED, "got nan");
    expect_run(NONE, "--m 5 --n 20 --k 72 --alpha 0.3 --inputs integers", STATUS_VERIFIED,
               "verified   bounded: largest");
    expect_run(NONE, "--m 5 --n 20 --k 72", STATUS_VERIFIED, "alpha=1 beta=1");
    expect_refused("--alpha x", "--alpha 'x': must be a number");
    expect_refused("--n 18", "n=18 is not a multiple of 4");
    subject = &fake;
}

static void moves(void) {
    subject = &fake_transpose;
    expect_run(NONE, "--m 12 --n 40 --policy eager", STATUS_VERIFIED,
               "bits exact: 480 of 480 equal; normal exact: 480 of 480 equal; the host loop");
    EXPECT(strstr(output, "problem    m=12 n=40, fp32, transposed\n") != NULL, "%s", output);
    expect_run(NONE, "--m 4 --n 8 --policy eager --inputs bits", STATUS_VERIFIED,
               "verified   bits exact: 32 of 32 equal; the host loop agrees");
    /* The last element of D, which is [n][m]. */
    expect_run(WRONG_ELEMENT, "--m 12 --n 40", STATUS_FAILED,
               "1 of 480 differ; first at [39][11]: got 0x");
    expect_run(WRONG_THIRD_TIME, "--m 12 --n 40", STATUS_FAILED, "policy     newest-first\n");
    expect_run(NAN_ELEMENT, "--m 12 --n 40", STATUS_FAILED, "1 of 480 differ");
    expect_run(UNWRITTEN, "--m 12 --n 40", STATUS_FAILED,
               "480 of 480 differ; first at [0][0]: got "
               "0xffffffff");
    expect_run(ALL_ZERO, "--m 12 --n 40 --policy eager", STATUS_FAILED, "WRONG      exact: 480 of");
    expect_refused("--m 1 --n 4", "rows of whole 16 bytes");
    expect_refused("--m 4 --n 4 --k 4", "there is no k");
    expect_refused("--m 1048576 --n 1048576", "m=1048576 n=1048576 needs");
    subject = &fake_add_one;
    expect_run(NONE, "--m 1 --n 4 --policy eager", STATUS_VERIFIED, "bits exact: 4 of 4 equal");
    expect_run(NONE, "--m 3 --n 400 --policy eager", STATUS_VERIFIED, "1200 of 1200 equal");
    expect_run(WRONG_ELEMENT, "--m 3 --n 8", STATUS_FAILED, "first at [2][7]: got 0x");
    subject = &fake;
}

static void json(void) {
    static char content[65536];
    char directory[] = "/tmp/gemm-ladder-unit-XXXXXX";
    char path[64];
    char words[128];
    EXPECT(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/x.json", directory);
    snprintf(words, sizeof words, "--size 64 --policy lazy --json %s", path);
    expect_run(NONE, words, STATUS_VERIFIED, "verified");
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL, "there is no %s", path);
    if (file != NULL) {
        content[fread(content, 1, sizeof content - 1, file)] = '\0';
        fclose(file);
    }
    EXPECT(strstr(content, "\"gpu\": null") != NULL, "%s", content);
    EXPECT(strstr(content, "\"verified\": true") != NULL, "%s", content);
    EXPECT(strstr(content, "\"digest\": \"0x") != NULL, "%s", content);
    EXPECT(strstr(content, "\"policies\": \"lazy\"") != NULL, "%s", content);
    EXPECT(strstr(content, "\"timing\": null") != NULL, "%s", content);
    unlink(path);
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

/* What cannot be printed is told by the exit status. */
static void unprintable(void) {
    const char *words[] = {"--help", "--size 64 --policy eager"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        output_to = "/dev/full";
        EXPECT(status_of(NONE, words[i]) == STATUS_FAILED, "%s succeeded", words[i]);
        EXPECT(strncmp(output, "v98: cannot write its output: ", 30) == 0, "%s", output);
        EXPECT(strchr(output, '\n') == output + strlen(output) - 1, "it says: %s", output);
        output_to = NULL;
    }
}

static void help(void) {
    EXPECT(status_of(NONE, "--help") == STATUS_VERIFIED, "%s", output);
    EXPECT(strstr(output, "v98: a host product") != NULL, "%s", output);
    EXPECT(strstr(output, "--policy NAME") != NULL, "%s", output);
    EXPECT(strstr(output, "--protocol") == NULL, "%s", output);
}

int main(void) {
    run_case("emulated program: right results", right);
    run_case("emulated program: policies", policies);
    run_case("emulated program: wrong results, and under which policy", wrong);
    run_case("emulated program: two launches that differ in one bit", other_bits);
    run_case("emulated program: bad usage exits with 2", bad_usage);
    run_case("emulated program: fp16, and fp16 sums", fp16);
    run_case("emulated program: alpha, beta and C", addmm);
    run_case("emulated program: matrices that are moved", moves);
    run_case("emulated program: JSON", json);
    run_case("emulated program: output that cannot be written", unprintable);
    run_case("emulated program: --help", help);
    return test_result();
}
