/* The whole program for a GPU, around a rung that must never get to run: exit status, messages. */
#include "../unit/program.h"

static int refuse_to_prepare(const problem *problem, void **state) {
    (void)problem;
    (void)state;
    fputs("prepare was called\n", stderr);
    return 1;
}

static int refuse_to_launch(const problem *problem, void *state) {
    (void)problem;
    (void)state;
    fputs("launch was called\n", stderr);
    return 1;
}

static void release_nothing(void *state) { (void)state; }

#define FAKE                                                                                       \
    .name = "v99", .idea = "does nothing", .prepare = refuse_to_prepare,                           \
    .launch = refuse_to_launch, .release = release_nothing

static const step BF16 = {FAKE,
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .max_compute_capability = 90,
                          .multiple_m = 128,
                          .multiple_n = 256,
                          .multiple_k = 64};
static const step ADDMM = {FAKE, .computes = ADDMM_FP16, .min_compute_capability = 80,
                           .max_compute_capability = 999};

#define USAGE STATUS_USAGE
#define CANNOT STATUS_CANNOT_RUN

static const run RUNS[] = {
    {"without a GPU it exits with 77", &BF16, 0, "", CANNOT,
     "compute capability 9.0|make step N=v99 EMULATE=1"},
    {NULL, &BF16, 0, "--size 256 --protocol none", CANNOT, "cannot run here"},
    {"bad options exit with 2 before a GPU is looked for", &BF16, 0, "--bogus", USAGE, "--bogus"},
    {NULL, &BF16, 0, "--size 0", USAGE, "--size '0'"},
    {NULL, &BF16, 0, "--size", USAGE, "needs a value"},
    {NULL, &BF16, 0, "--size 4096 --m 128", USAGE, "either"},
    {NULL, &BF16, 0, "--policy all", USAGE, "a GPU orders events by itself"},
    {"bad shapes exit with 2", &BF16, 0, "--m 100", USAGE, "m=100 is not a multiple of 128"},
    {NULL, &BF16, 0, "--n 128", USAGE, "multiples of 256"},
    {NULL, &BF16, 0, "--k 33554432", USAGE, "exact check"},
    {"what needs no newest GPU says so, and takes alpha and beta", &ADDMM, 0,
     "--alpha -2.5 --beta 0", CANNOT, "compute capability 8.0 or later"},
    {NULL, &ADDMM, 0, "--alpha nan", USAGE, "--alpha 'nan'"},
    {NULL, &ADDMM, 0, "--help", STATUS_VERIFIED, "--alpha X |--beta Y "},
    {NULL, &BF16, 0, "--alpha 1", USAGE, "takes no alpha and no beta"},
    {"a file that cannot be written exits with 2", &BF16, 0, "--json /nonexistent/x.json", USAGE,
     "/nonexistent/x.json"},
    {NULL, &BF16, 0, "--json /tmp", USAGE, "directory"},
    {"--help", &BF16, 0, "--help", STATUS_VERIFIED, "v99: does nothing|--protocol burst"},
    {.name = NULL},
};

static void no_file_without_a_result(void) {
    char path[] = "/tmp/gemm-ladder-main-XXXXXX";
    char words[128];
    EXPECT(mkdtemp(path) != NULL, "mkdtemp");
    snprintf(words, sizeof words, "--json %s/x.json", path);
    expect_run(&(run){NULL, &BF16, 0, words, CANNOT, "cannot run here"});
    EXPECT(rmdir(path) == 0, "something was left in %s", path);
}

int main(void) {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    run_all("program", RUNS, NULL);
    run_case("program: without a result there is no file", no_file_without_a_result);
    return test_result();
}
