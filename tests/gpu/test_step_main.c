/* The whole program on a GPU, around steps that are right, and wrong. Each run is a process of its
 * own: a fault spoils the process that made it. Without a GPU every case is skipped. */
#include <math.h>

#include "../unit/fake.h"

static const step BF16 = {FAKE, .computes = GEMM_BF16, .min_compute_capability = 80};
static const step ANY_ROW = {FAKE, .computes = GEMM_BF16, .any_row = true,
                             .min_compute_capability = 80};
static const step GREEDY = {FAKE, .computes = GEMM_BF16, .min_shared_memory = 1 << 30};

/* Its kernels are all the same; the third is the second one at every shape. */
static int kernel_of(const problem *problem) {
    return problem->kernel == 0 ? 0 : problem->kernel == 1 ? 0 : 1;
}
static const step CHOOSES = {FAKE, .computes = GEMM_BF16, .min_compute_capability = 80,
                             .kernels = 3, .kernel_of = kernel_of};

#define SMALL "--m 200 --n 264 --k 72 --rounds 1"
#define MOVED "--m 200 --n 264 --rounds 1"

static const run RUNS[] = {
    {"a right step is verified", &BF16, NONE, "--m 200 --n 264 --k 72 --protocol none", RIGHT,
     "exact: 52800 of 52800 equal; bounded: largest error"},
    {NULL, &BF16, NONE, "--m 1 --n 8 --k 8 --protocol none --inputs uniform", RIGHT,
     "exact: 8 of 8 equal"},
    {NULL, &BF16, NONE, "--m 264 --n 200 --k 72 --protocol none --inputs integers", RIGHT,
     "exact: 105600 of 105600 equal; cuBLAS"},
    {"rows of any length", &ANY_ROW, NONE, "--m 1 --n 1 --k 1 --protocol none", RIGHT,
     "exact: 1 of 1 equal; bounded"},
    {NULL, &ANY_ROW, NONE, "--m 1 --n 4999 --k 777 --rounds 1 --heuristics 64", RIGHT,
     "exact: 4999 of 4999 equal; bounded|of cuBLASLt's best"},
    {NULL, &ANY_ROW, NONE, "--m 129 --n 515 --k 1001 --rounds 1 --heuristics 64", RIGHT,
     "cuBLAS agrees; guards intact; timed buffers checked again"},
    {NULL, &ANY_ROW, WRITES_BEHIND, "--m 3 --n 13 --k 9 --rounds 1", WRONG,
     "the byte 1 after its last one"},
    {"cuBLASLt rounds no partial sums", &ANY_ROW, NONE,
     "--m 17847 --n 96 --k 26642 --rounds 1 --heuristics 64", RIGHT,
     "exact: 1713312 of 1713312 equal|of cuBLASLt's best"},
    {"fp16, and fp16 sums", &FP16, NONE, "--m 200 --n 264 --k 72 --protocol none", RIGHT,
     "exact: 52800 of 52800 equal; bounded: largest error"},
    {NULL, &FP16, NONE, "--m 512 --n 256 --k 40960 --protocol none", RIGHT, "cuBLAS agrees"},
    {NULL, &FP16, NONE, "--size 1024 --rounds 2", RIGHT, "of cuBLAS with fp16 sums"},
    {"matrices that are moved", &TRANSPOSE, NONE, "--m 200 --n 264 --protocol none", RIGHT,
     "bits exact: 52800 of 52800 equal; normal exact: 105600 of 105600 equal; "
     "cublasSgeam agrees"},
    {NULL, &TRANSPOSE, NONE, "--m 4 --n 131072 --protocol none --inputs bits", RIGHT,
     "verified   bits exact: 1048576 of 1048576 equal; cublasSgeam"},
    {NULL, &TRANSPOSE, NONE, "--m 4096 --n 2048 --rounds 2", RIGHT,
     "GB/s|of the device copy| % of peak|of cublasSgeam|!TFLOPS"},
    {NULL, &TRANSPOSE, WRONG_ELEMENT, MOVED, WRONG,
     "1 of 52800 differ; first at [263][199]: got 0x"},
    {NULL, &TRANSPOSE, WRITES_BEHIND, MOVED, WRONG, "the byte 1 after its last one"},
    {NULL, &TRANSPOSE, WRONG_LATER, MOVED, WRONG, "(after timing)"},
    {NULL, &ADD_ONE, NONE, "--m 3 --n 4 --protocol none", RIGHT, "bits exact: 12 of 12 equal"},
    {NULL, &ADD_ONE, NONE, "--m 4096 --n 2048 --rounds 1", RIGHT, "of a plain kernel"},
    {NULL, &ADD_ONE, WRONG_ELEMENT, "--m 3 --n 4 --rounds 1", WRONG, "first at [2][3]: got 0x"},
    {"four launches of a long product are a burst", &BF16, NONE, "--size 4096 --rounds 1", RIGHT,
     "1 round of 4 launches, burst"},
    {"sustained timing", &BF16, NONE, "--m 1024 --n 2048 --k 512 --protocol sustained --rounds 1",
     RIGHT, "timed buffers checked again|1 round, sustained|ratio |TFLOPS"},
    {"the time of a call", &BF16, NONE, "--size 512 --protocol call --rounds 2", RIGHT,
     "2 rounds of 21 calls"},
    {"what a choice loses against each kernel", &CHOOSES, NONE,
     "--size 4096 --kernel all --rounds 2", RIGHT,
     "timed buffers checked again|regret     |the fastest, "},
    {NULL, &CHOOSES, WRONG_LATER, "--size 4096 --kernel all --rounds 1", WRONG, "WRONG      "},
    {"a wrong element is found", &BF16, WRONG_ELEMENT, SMALL, WRONG,
     "WRONG      exact: 1 of 52800 differ; first at [199][263]: got 48.5, expected "},
    {"a NaN is found", &BF16, NAN_ELEMENT, SMALL, WRONG, "got nan"},
    {"an output that is not written is found", &BF16, UNWRITTEN, SMALL, WRONG,
     "exact: 52800 of 52800 differ"},
    {"writes beside the output are found", &BF16, WRITES_BEHIND, SMALL, WRONG,
     "D of copy 0: the byte 1 after its last one was overwritten"},
    {NULL, &BF16, WRITES_BEFORE, SMALL, WRONG,
     "D of copy 0: the byte 2 before its first one was overwritten"},
    {"a wrong result during timing is found", &BF16, WRONG_LATER, SMALL, WRONG, "(after timing)"},
    /* Far within the bound of an fp32, so that nothing but the digest can tell. */
    {"one other bit in a timed launch is found", &ADDMM, LAST_BIT_LATER, SMALL, WRONG,
     "WRONG      two launches on the same inputs gave different bits: digests 0x"},
    {"failed calls exit with 1", &BF16, REFUSES, SMALL, WRONG, "v98: refuses to launch"},
    {NULL, &BF16, FAULTS, SMALL, WRONG, " failed: "},
    {"a shape that does not fit exits with 2", &BF16, NONE, "--m 262144 --n 1048576 --k 8", USAGE,
     "of GPU memory"},
    {"a GPU that is not there exits with 2", &BF16, NONE, "--device 1000", USAGE, "--device 1000"},
    {"a GPU with too little shared memory exits with 77", &GREEDY, NONE, SMALL, CANNOT,
     "with 1048576 KB of shared memory for a CTA, and"},
    {.name = NULL},
};

static void addmm(void) { expect_scalars("--m 200 --n 260 --k 72 --rounds 1"); }

/* Four launches of this product take a few microseconds: more have to be timed. */
static void burst(void) {
    static const char before[] = "2 rounds of ";
    int count = 0;
    expect_file(&BF16, "--m 1024 --n 2048 --k 512 --rounds 2", RIGHT,
                "timed buffers checked again|2 rounds of |launches, burst|ratio |TFLOPS",
                "\"timed\":{\"step\":{\"seconds\":[|\"cublas\":{\"seconds\":[");
    const char *found = strstr(output, before);
    EXPECT(found != NULL && sscanf(found + strlen(before), "%d", &count) == 1, "%s", output);
    EXPECT(count > BURST_LEAST_LAUNCHES && count <= BURST_MOST_LAUNCHES, "%d launches", count);
}

static void heuristics_of_cublaslt(void) {
    char zeros[ALGORITHM_DIGITS + 64];
    expect_run(&(run){NULL, &BF16, NONE, "--m 1024 --n 512 --k 256 --rounds 2 --heuristics 5",
                      RIGHT, "of cuBLASLt's best|           number "});
    EXPECT(strstr(output, ": tile ") != NULL, "no name: %s", output);
    snprintf(zeros, sizeof zeros, "--size 512 --rounds 1 --algorithm %0*d", (int)ALGORITHM_DIGITS,
             0);
    expect_run(&(run){NULL, &BF16, NONE, zeros, WRONG,
                      "--algorithm: cuBLASLt does not take it for m=512"});
    expect_run(&(run){NULL, &FP16, NONE, "--size 512 --rounds 1 --heuristics 3", RIGHT,
                      "of cuBLASLt's best"});
}

/* The number after the key, in the part of the file after the first one. */
static double number_after(const char *part, const char *key) {
    const char *found = strstr(recorded, part);
    found = found != NULL ? strstr(found, key) : NULL;
    return found != NULL ? strtod(found + strlen(key), NULL) : NAN;
}

/* In the search a kernel takes as long as in a burst, and not as long as enqueueing it; and what
 * one process finds, another one takes by its digits. */
static void search_of_cublaslt(void) {
    static const double TOLERANCE = 0.25;
    char words[256];
    expect_file(&BF16, "--size 512 --rounds 1 --heuristics 4", RIGHT, "of cuBLASLt's best",
                "\"winner\"|\"algorithm\":\"");
    const double searched = number_after("\"winner\"", "\"seconds\":");
    const double burst = number_after("\"cublaslt\":{\"seconds\"", "[");
    EXPECT(fabs(searched / burst - 1) <= TOLERANCE, "%g s in the search, %g s in the burst",
           searched, burst);
    const char *digits = strstr(recorded, "\"algorithm\":\"");
    snprintf(words, sizeof words, "--size 512 --rounds 1 --algorithm %.*s", (int)ALGORITHM_DIGITS,
             digits != NULL ? digits + strlen("\"algorithm\":\"") : "");
    expect_run(&(run){NULL, &BF16, NONE, words, RIGHT, "of cuBLASLt's best"});
}

/* One process, with all that a run leaves to the next. */
static void several_runs(void) {
    expect_lines(&ANY_ROW, NONE,
                 "--size\t512\t--rounds\t1\t--heuristics\t2\n"
                 "--m\t1\t--n\t77\t--k\t33\t--rounds\t2\t--heuristics\t2\n--size\t512",
                 RIGHT,
                 "m=512|timed buffers checked again|m=1 n=77 k=33|of cuBLASLt|m=512|10 rounds");
    expect_lines(&BF16, WRONG_ELEMENT, "--size\t64\n--size\t128\n", WRONG, "m=64 n=64 k=64, ");
}

/* What is no row. */
static const struct {
    const char *name;
    void (*body)(void);
} CASES[] = {
    {"gpu program: alpha, beta and C", addmm},
    {"gpu program: burst timing", burst},
    {"gpu program: several runs", several_runs},
    {"gpu program: the best of cuBLASLt's algorithms", heuristics_of_cublaslt},
    {"gpu program: the search among cuBLASLt's algorithms", search_of_cublaslt},
};

int main(void) {
    step hopper = BF16;
    hopper.min_compute_capability = 90;
    const int status = status_of(&hopper, NONE, "--m 8 --n 8 --k 8 --protocol none");
    const char *skipped = status == CANNOT ? "no GPU of compute capability 9.0" : NULL;
    run_all("gpu program", RUNS, skipped);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
        if (skipped != NULL) {
            skip_case(CASES[i].name, skipped);
        } else {
            run_case(CASES[i].name, CASES[i].body);
        }
    }
    return test_result();
}
