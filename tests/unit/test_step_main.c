/* The whole program for the emulator, around steps that are right, and wrong in every way that the
 * harness promises to find. Their launches are plain functions of the host: the emulator has tests
 * of its own. */
#include "harness/second_opinion.h"
#include "program.h"

enum {
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

static int launches; /* of the step of this process */

static int prepare(const problem *problem, void **state) {
    *state = second_opinion_open(subject->computes, CONTENDER_OTHER, problem->stream);
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

#define FAKE                                                                                       \
    .name = "v98", .idea = "a host product in a rung's clothes", .max_compute_capability = 999,    \
    .prepare = prepare, .launch = launch, .release = release

static const step BF16 = {FAKE,
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .multiple_m = 64,
                          .multiple_n = 64,
                          .multiple_k = 64};
static const step FP16 = {FAKE, .computes = GEMM_FP16, .fp16_sums = true,
                          .min_compute_capability = 80};
static const step ADDMM = {FAKE, .computes = ADDMM_FP16, .min_compute_capability = 80};
static const step TRANSPOSE = {FAKE, .computes = TRANSPOSE_FP32, .min_compute_capability = 90};
static const step ADD_ONE = {FAKE, .computes = ADD_ONE_INT32, .min_compute_capability = 90};

#define RIGHT STATUS_VERIFIED
#define WRONG STATUS_FAILED
#define USAGE STATUS_USAGE
#define UNEVEN "--m 5 --n 20 --k 72 "

static const run RUNS[] = {
    {"right results", &BF16, NONE, "--m 64 --n 128 --k 64 --policy eager", RIGHT,
     "exact: 8192 of 8192 equal; bounded: largest error|the host product agrees\n|"
     "no speed is measured|!TFLOPS|!cuBLAS"},
    {NULL, &BF16, NONE, "--size 64 --policy eager --inputs integers", RIGHT,
     "exact: 4096 of 4096 equal; the host product"},
    {NULL, &BF16, NONE, "--size 320 --policy eager --check sample", RIGHT,
     "exact: 69636 of 69636 equal"},
    {"policies", &BF16, NONE, "--size 64", RIGHT,
     "policies   eager, lazy, newest-first|!random|counted under the policy eager"},
    {NULL, &BF16, NONE, "--size 64 --policy lazy", RIGHT, "policies   lazy\n"},
    {NULL, &BF16, NONE, "--size 64 --policy random --seed 7", RIGHT,
     "policies   random with seed 7\n"},
    {"wrong results, and under which policy", &BF16, WRONG_ELEMENT, "--size 64", WRONG,
     "1 of 4096 differ; first at [63][63]|policy     eager\n"},
    {NULL, &BF16, WRONG_THIRD_TIME, "--size 64", WRONG, "policy     newest-first\n"},
    {NULL, &BF16, NAN_ELEMENT, "--size 64", WRONG, "got nan"},
    {NULL, &BF16, UNWRITTEN, "--size 64", WRONG, "4096 of 4096 differ"},
    {NULL, &BF16, REFUSES, "--size 64", WRONG, "refuses to launch"},
    /* One bit of an fp32, far within the bound, under one of the policies. */
    {"two launches that differ in one bit", &ADDMM, NONE, UNEVEN "--alpha 0.3", RIGHT, "bounded"},
    {NULL, &ADDMM, LAST_BIT_THIRD_TIME, UNEVEN "--alpha 0.3", WRONG,
     "WRONG      two launches on the same inputs gave different bits: digests 0x|"
     "policy     newest-first\n"},
    {"bad usage exits with 2", &BF16, NONE, "--m 100", USAGE, "m=100 is not a multiple of 64"},
    {"fp16, and fp16 sums", &FP16, NONE, "--m 3 --n 24 --k 40 --policy eager", RIGHT,
     "exact: 72 of 72 equal|fp16 in and out, fp16 accumulate\n|compute capability 8.0"},
    {NULL, &FP16, NONE, "--m 8 --n 16 --k 40960 --policy eager", RIGHT, "128 of 128 equal"},
    {NULL, &FP16, ALL_ZERO, "--m 8 --n 16 --k 1024 --policy eager", WRONG, "outside the bound"},
    {NULL, &FP16, WRONG_ELEMENT, "--m 8 --n 16 --k 8", WRONG, "1 of 128 differ"},
    {"what alpha, beta and C leave out", &ADDMM, READS_EVERYTHING, UNEVEN "--alpha 1", RIGHT,
     "exact"},
    {NULL, &ADDMM, READS_EVERYTHING, UNEVEN "--beta 0", WRONG, "got nan"},
    {NULL, &ADDMM, NONE, UNEVEN "--alpha 0.3 --inputs integers", RIGHT,
     "verified   bounded: largest"},
    {NULL, &ADDMM, NONE, UNEVEN, RIGHT, "alpha=1 beta=1"},
    {"matrices that are moved", &TRANSPOSE, NONE, "--m 12 --n 40 --policy eager", RIGHT,
     "bits exact: 480 of 480 equal; normal exact: 480 of 480 equal; the host loop|"
     "problem    m=12 n=40, fp32, transposed\n"},
    {NULL, &TRANSPOSE, NONE, "--m 4 --n 8 --policy eager --inputs bits", RIGHT,
     "verified   bits exact: 32 of 32 equal; the host loop agrees"},
    /* The last element of D, which is [n][m]. */
    {NULL, &TRANSPOSE, WRONG_ELEMENT, "--m 12 --n 40", WRONG,
     "1 of 480 differ; first at [39][11]: got 0x"},
    {NULL, &TRANSPOSE, WRONG_THIRD_TIME, "--m 12 --n 40", WRONG, "policy     newest-first\n"},
    {NULL, &TRANSPOSE, NAN_ELEMENT, "--m 12 --n 40", WRONG, "1 of 480 differ"},
    {NULL, &TRANSPOSE, UNWRITTEN, "--m 12 --n 40", WRONG,
     "480 of 480 differ; first at [0][0]: got 0xffffffff"},
    {NULL, &TRANSPOSE, ALL_ZERO, "--m 12 --n 40 --policy eager", WRONG, "WRONG      exact: 480 of"},
    {NULL, &TRANSPOSE, NONE, "--m 1048576 --n 1048576", USAGE, "m=1048576 n=1048576 needs"},
    {NULL, &ADD_ONE, NONE, "--m 1 --n 4 --policy eager", RIGHT, "bits exact: 4 of 4 equal"},
    {NULL, &ADD_ONE, NONE, "--m 3 --n 400 --policy eager", RIGHT, "1200 of 1200 equal"},
    {NULL, &ADD_ONE, WRONG_ELEMENT, "--m 3 --n 8", WRONG, "first at [2][7]: got 0x"},
    {"--help", &BF16, NONE, "--help", RIGHT, "v98: a host product|--policy NAME|!--protocol"},
    {.name = NULL},
};

static void addmm(void) {
    static const char *const scalars[] = {"0", "1", "-2.5"};
    char words[128];
    char says[256];
    for (int i = 0; i < 9; ++i) {
        const char *alpha = scalars[i / 3];
        const char *beta = scalars[i % 3];
        snprintf(words, sizeof words, UNEVEN "--alpha %s --beta %s --policy eager", alpha, beta);
        snprintf(says, sizeof says,
                 "exact: 100 of 100 equal; bounded: largest|"
                 "alpha=%s beta=%s, A and B fp16, C and D fp32, fp32 acc",
                 alpha, beta);
        expect_run(&(run){NULL, &ADDMM, NONE, words, RIGHT, says});
    }
}

static void json(void) {
    static const char *const parts[] = {"\"gpu\": null", "\"verified\": true", "\"digest\": \"0x",
                                        "\"policies\": \"lazy\"", "\"timing\": null"};
    char directory[] = "/tmp/gemm-ladder-unit-XXXXXX";
    char path[64];
    char words[128];
    EXPECT(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/x.json", directory);
    snprintf(words, sizeof words, "--size 64 --policy lazy --json %s", path);
    expect_run(&(run){NULL, &BF16, NONE, words, RIGHT, "verified"});
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        EXPECT(file_has(path, parts[i]), "%s is not in the file", parts[i]);
    }
    unlink(path);
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

/* What cannot be printed is told by the exit status. */
static void unprintable(void) {
    const char *words[] = {"--help", "--size 64 --policy eager"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        output_to = "/dev/full";
        EXPECT(status_of(&BF16, NONE, words[i]) == STATUS_FAILED, "%s succeeded", words[i]);
        EXPECT(strncmp(output, "v98: cannot write its output: ", 30) == 0, "%s", output);
        EXPECT(strchr(output, '\n') == output + strlen(output) - 1, "it says: %s", output);
        output_to = NULL;
    }
}

int main(void) {
    run_all("emulated program", RUNS, NULL);
    run_case("emulated program: alpha, beta and C", addmm);
    run_case("emulated program: JSON", json);
    run_case("emulated program: output that cannot be written", unprintable);
    return test_result();
}
