/* The whole program for the emulator, around steps that are right, and wrong. Their launches are
 * plain functions of the host. */
#define FIRST_LAUNCHES 2 /* eager, lazy */
#include "fake.h"

#include "harness/buffers.h"

static const step BF16 = {FAKE,
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .multiple_m = 64,
                          .multiple_n = 64,
                          .multiple_k = 64};

static const step ANY_ROW = {FAKE, .computes = GEMM_BF16, .any_row = true};

static int explain(const problem *problem) {
    printf("%d x %d x %d\n", problem->m, problem->n, problem->k);
    return problem->k == 128;
}

static const step CHOOSES = {FAKE,
                             .computes = GEMM_BF16,
                             .min_compute_capability = 90,
                             .multiple_m = 64,
                             .multiple_n = 64,
                             .multiple_k = 64,
                             .kernels = 3,
                             .explain = explain};

static const step NOTHING = {FAKE, .computes = GEMM_BF16, .computes_nothing = true};

#define UNEVEN "--m 5 --n 20 --k 72 "

static const run RUNS[] = {
    {"right results", &BF16, NONE, "--m 64 --n 128 --k 64 --policy eager", RIGHT,
     "exact: 8192 of 8192 equal; bounded: largest error|the host product agrees\n|"
     "no speed is measured|!TFLOPS|!cuBLAS"},
    {NULL, &BF16, NONE, "--size 64 --policy eager --inputs integers", RIGHT,
     "exact: 4096 of 4096 equal; the host product"},
    {NULL, &BF16, NONE, "--size 320 --policy eager", RIGHT, "exact: 102400 of 102400 equal"},
    {NULL, &ANY_ROW, NONE, "--m 1 --n 1 --k 1 --policy eager", RIGHT,
     "exact: 1 of 1 equal; bounded"},
    {NULL, &ANY_ROW, NONE, "--m 3 --n 13 --k 9 --policy lazy", RIGHT, "39 of 39 equal"},
    {NULL, &ANY_ROW, WRONG_ELEMENT, "--m 3 --n 13 --k 9", WRONG, "first at [2][12]"},
    {"policies", &BF16, NONE, "--size 64", RIGHT,
     "policies   eager, lazy, random with seed 1\n|counted under the policy eager"},
    {NULL, &BF16, NONE, "--size 64 --policy lazy", RIGHT, "policies   lazy\n"},
    {NULL, &BF16, NONE, "--size 64 --policy random --seed 7", RIGHT,
     "policies   random with seed 7\n"},
    {"wrong results, and under which policy", &BF16, WRONG_ELEMENT, "--size 64", WRONG,
     "1 of 4096 differ; first at [63][63]|policy     eager\n"},
    {NULL, &BF16, WRONG_LATER, "--size 64", WRONG, "policy     lazy\n"},
    {NULL, &BF16, NAN_ELEMENT, "--size 64", WRONG, "got nan"},
    {NULL, &BF16, UNWRITTEN, "--size 64", WRONG, "4096 of 4096 differ"},
    {NULL, &BF16, REFUSES, "--size 64", WRONG, "refuses to launch"},
    {"a step that computes nothing", &NOTHING, UNWRITTEN, "--size 64", RIGHT,
     "unchecked  it does not compute D|!verified|counted under the policy eager"},
    {"a NaN in the middle", &ANY_ROW, NAN_ELEMENT, "--m 513 --n 512 --k 8 --policy eager", WRONG,
     "exact: 1 of 262656 differ; first at [256][256]: got nan"},
    {"a default run ends at the first shape that is wrong", &BF16, WRONG_ELEMENT, "", WRONG,
     "problem    m=64 n=64 k=64|!m=256"},
    {NULL, &BF16, WRONG_LAST_TRIAL, "", WRONG, "m=64 n=320|WRONG      exact|!n=1024"},
    /* One bit of an fp32, far within the bound, under one of the policies. */
    {"two launches that differ in one bit", &ADDMM, NONE, UNEVEN "--alpha 0.3", RIGHT, "bounded"},
    {NULL, &ADDMM, LAST_BIT_LATER, UNEVEN "--alpha 0.3", WRONG,
     "WRONG      two launches on the same inputs gave different bits: digests 0x|"
     "policy     random with seed 1\n"},
    {"bad usage exits with 2", &BF16, NONE, "--m 100", USAGE, "m=100 is not a multiple of 64"},
    {NULL, &BF16, NONE, "--runs /nonexistent", USAGE,
     "--runs: cannot read '/nonexistent': No such"},
    {"fp16, and fp16 sums", &FP16, NONE, "--m 3 --n 24 --k 40 --policy eager", RIGHT,
     "exact: 72 of 72 equal|fp16 in and out, fp16 accumulate\n|compute capability 8.0"},
    {NULL, &FP16, NONE, "--m 8 --n 16 --k 40960 --policy eager", RIGHT, "128 of 128 equal"},
    {NULL, &FP16, ALL_ZERO_LATER, "--m 8 --n 16 --k 1024 --policy eager", WRONG,
     "outside the bound"},
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
    {NULL, &TRANSPOSE, WRONG_LATER, "--m 12 --n 40", WRONG, "policy     lazy\n"},
    {NULL, &TRANSPOSE, NAN_ELEMENT, "--m 12 --n 40", WRONG, "1 of 480 differ"},
    {NULL, &TRANSPOSE, UNWRITTEN, "--m 12 --n 40", WRONG,
     "480 of 480 differ; first at [0][0]: got 0xffffffff"},
    {NULL, &TRANSPOSE, ALL_ZERO_LATER, "--m 12 --n 40 --policy eager", WRONG,
     "WRONG      exact: 480 of"},
    {NULL, &TRANSPOSE, NONE, "--m 524288 --n 524288", USAGE, "m=524288 n=524288 needs"},
    {NULL, &ADD_ONE, NONE, "--m 1 --n 4 --policy eager", RIGHT, "bits exact: 4 of 4 equal"},
    {NULL, &ADD_ONE, NONE, "--m 3 --n 400 --policy eager", RIGHT, "1200 of 1200 equal"},
    {NULL, &ADD_ONE, WRONG_ELEMENT, "--m 3 --n 8", WRONG, "first at [2][7]: got 0x"},
    {"one kernel of several, and why one", &CHOOSES, NONE, "--size 64 --policy eager --kernel 3",
     RIGHT, "k=64, kernel 3, bf16|4096 of 4096 equal"},
    {NULL, &CHOOSES, NONE, "--m 128 --k 64 --explain", RIGHT, "128 x 1024 x 64\n|!equal|!problem"},
    {NULL, &CHOOSES, NONE, "--size 128 --explain", WRONG, "128 x 128 x 128\n|!equal"},
    {NULL, &CHOOSES, NONE, "--size 100 --explain", USAGE, "not a multiple of 64"},
    {NULL, &CHOOSES, NONE, "--m 2000000 --n 2000000 --explain", USAGE, "D may have at most"},
    {"the trials of a default run", &BF16, NONE, "--trials --seed 7", RIGHT,
     "several tiles per CTA\t--m 64 --n 320 --k 128 --inputs integers\n|!problem"},
    {"--help", &BF16, NONE, "--help", RIGHT, "v98: the second opinion|--policy eager|!--protocol"},
    {.name = NULL},
};

static void addmm(void) { expect_scalars(UNEVEN "--policy eager"); }

static void json(void) {
    expect_file(&BF16, "--size 64 --policy lazy", RIGHT, "verified",
                "\"gpu\":null|\"protocol\":null|\"digest\":\"0x|\"policies\":\"lazy\"|"
                "\"errors\":{\"step\":{\"bound\":");
}

/* What a launch writes beside D is found. */
static void guards(void) {
    char text[96];
    const buffer d = buffer_create(6, true, "D");
    EXPECT(buffer_guards_intact(&d, text, sizeof text), "%s", text);
    d.payload[6] = 0;
    EXPECT(!buffer_guards_intact(&d, text, sizeof text) && strstr(text, "byte 1 after"), "%s",
           text);
    d.payload[6] = GUARD_BYTE;
    d.payload[-2] = 0;
    EXPECT(!buffer_guards_intact(&d, text, sizeof text) && strstr(text, "byte 2 before"), "%s",
           text);
    buffer_destroy(&d);
}

/* Other inputs, and so other bits. */
static void seeds(void) {
    char digest[2][32] = {"", ""};
    for (int i = 0; i < 2; ++i) {
        expect_file(&BF16, i == 0 ? "--size 64 --policy lazy" : "--size 64 --policy lazy --seed 2",
                    RIGHT, "verified", "\"digest\":\"0x");
        snprintf(digest[i], sizeof digest[i], "%.28s", strstr(recorded, "\"digest\""));
    }
    EXPECT(strcmp(digest[0], digest[1]) != 0, "both give %s", digest[0]);
}

/* Up to the first whose result is wrong, or that is refused. */
static void several_runs(void) {
    expect_lines(&BF16, NONE, "--size\t64\t--policy\tlazy\n--m\t64\t--n=128\t--k\t64\n", RIGHT,
                 "m=64 n=64 k=64, |m=64 n=128 k=64, ");
    expect_lines(&BF16, WRONG_ELEMENT, "--size\t64\n--size\t128\n", WRONG, "m=64 n=64 k=64, ");
    expect_lines(&BF16, NONE, "--size\t64\n--size\t100\n--size\t64", USAGE,
                 "m=64 n=64 k=64, |m=100 is not a multiple of 64");
    static const char *const wrong[][2] = {
        {"\t\n", "the options of one run"},
        {"--size\t64\t--help\n", "the options of one run, without --help and --runs"},
        {"--runs\t/dev/null\n", "the options of one run, without --help and --runs"},
        {"--nothing\n", "unknown argument '--nothing'"}};
    char lines[256];
    char says[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        snprintf(lines, sizeof lines, "--size\t64\n%s--size\t64\n", wrong[i][0]);
        snprintf(says, sizeof says, "m=64 n=64 k=64, |v98: --runs, line 2: %s", wrong[i][1]);
        expect_lines(&BF16, NONE, lines, USAGE, says);
    }
    memset(lines, '\t', sizeof lines - 1);
    for (size_t i = 0; i + 2 < sizeof lines; i += 2) {
        lines[i] = 'x'; /* more words than there is room for */
    }
    expect_lines(&BF16, NONE, lines, USAGE, "v98: --runs, line 1: unknown argument 'x'");
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
    run_case("emulated program: guard bands", guards);
    run_case("emulated program: each seed gives other inputs", seeds);
    run_case("emulated program: several runs", several_runs);
    run_case("emulated program: output that cannot be written", unprintable);
    return test_result();
}
