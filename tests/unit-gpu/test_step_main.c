/* The whole program for a GPU, around a rung that must never get to run: exit status, messages. */
#include "../unit/fake.h"

static const step BF16 = {FAKE,
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .multiple_m = 128,
                          .multiple_n = 256,
                          .multiple_k = 64};

static const run RUNS[] = {
    {"without a GPU it exits with 77", &BF16, 0, "", CANNOT,
     "compute capability 9.0|make step N=v98 EMULATE=1"},
    {NULL, &BF16, 0, "--size 256 --protocol none", CANNOT, "cannot run here"},
    {"bad options exit with 2 before a GPU is looked for", &BF16, 0, "--bogus", USAGE, "--bogus"},
    {NULL, &BF16, 0, "--size 0", USAGE, "--size '0'"},
    {NULL, &BF16, 0, "--size", USAGE, "needs a value"},
    {NULL, &BF16, 0, "--policy all", USAGE, "a GPU orders events itself"},
    {"bad shapes exit with 2", &BF16, 0, "--m 100", USAGE, "m=100 is not a multiple of 128"},
    {NULL, &BF16, 0, "--n 128", USAGE, "multiples of 256"},
    {"what needs no newest GPU says so, and takes alpha and beta", &ADDMM, 0,
     "--alpha -2.5 --beta 0", CANNOT, "compute capability 8.0 or later"},
    {NULL, &ADDMM, 0, "--alpha nan", USAGE, "--alpha 'nan'"},
    {NULL, &ADDMM, 0, "--help", STATUS_VERIFIED, "--alpha X |--beta Y "},
    {NULL, &BF16, 0, "--alpha 1", USAGE, "takes no alpha and no beta"},
    {"a file that cannot be written exits with 2", &BF16, 0, "--json /nonexistent/x.json", USAGE,
     "/nonexistent/x.json"},
    {NULL, &BF16, 0, "--json /tmp", USAGE, "directory"},
    {"--help", &BF16, 0, "--help", STATUS_VERIFIED, "v98: the second opinion|--protocol burst"},
    {.name = NULL},
};

static void no_file_without_a_result(void) {
    expect_file(&BF16, "--size 256", CANNOT, "cannot run here", NULL);
}

int main(void) {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    run_all("program", RUNS, NULL);
    run_case("program: without a result there is no file", no_file_without_a_result);
    return test_result();
}
