/* The printed lines and the JSON file, from made-up runs: all of both is in test_report.txt. */
#include <math.h>
#include <unistd.h>

#include "golden.h"
#include "harness/report.h"

static const device_info GPU = {.name = "Test GPU",
                                .compute_capability = 90,
                                .sms = 132,
                                .l2_bytes = 60000000,
                                .memory_bytes = 1000000000,
                                .power_limit_watts = NAN,
                                .cuda = "13.0",
                                .cublas = "13.1.0"};
static const device_info EMULATOR = {
    .emulated = true, .name = "CPU emulator", .compute_capability = 90, .sms = 4};
static const step V07 = {"v07", "raw mbarrier", .computes = GEMM_BF16};
static const step A06 = {"a06", "\"raw\" \\ \t \xc3\xa9", "v05", GEMM_FP16, .fp16_sums = true};
static const step A01 = {"a01", "wmma", .computes = ADDMM_FP16, .computes_nothing = true};
static const step T02 = {"t02", "a transpose", .computes = TRANSPOSE_FP32};
static const step F01 = {"f01", "e4m3", .computes = GEMM_FP8};
static const step F03 = {"f03", "blocks", .computes = GEMM_FP8, .block_scales = true,
                         .promotion = 9};
static double seconds[] = {1e-3, 2e-3, 4e-3};
static double cublas_seconds[] = {2e-3, 2e-3, 2e-3};
static double half_seconds[] = {5e-4, 5e-4, 5e-4};
static double clock_ghz[] = {1.5, 1.5, 1.6};
static double watts[] = {650.4, 650.4, 649};
static ranked ranks[] = {{5e-4, 3}, {6e-4, 1}};
static double unknown[] = {NAN, NAN, NAN};

static emulator_access_site accesses[] = {{"steps/v07.cu", 120, true, 4, 64, 512, 64, 8},
                                          {"steps/v07.cu", 130, false, 16, 64, 256, 256, 1}};
static emulation counted = {
    "eager",
    {101, 262144, 786432, 5000, 48, 2, 1500000, 60,  512,  9, 33554432, /* each another */
     150, 100,    40,     24,   7,  4, 3,       2.5, 3072, 8, 5},
    .sites = 2,
    .site = accesses};

/* The run that is reported, which the rows below change. */
static options asked;
static device gpu;
static verification result;
static timing times;
static contender contenders[8];
static workload work;
static report run;

/* One more contender; its times are half of the step's, or twice. */
static contender *add(enum contender_role role, const char *label, const char *key,
                      const char *title, bool fast) {
    contender *added = &contenders[work.contenders++];
    *added = (contender){.role = role,
                         .label = label,
                         .of = {fast ? half_seconds : cublas_seconds, clock_ghz, unknown, unknown}};
    snprintf(added->key, sizeof added->key, "%s", key);
    snprintf(added->title, sizeof added->title, "%s", title);
    for (int phase = 0; phase < PHASES; ++phase) {
        added->verdicts[phase] =
            (verdict){.kind = phase == PHASE_EXACT ? CHECK_EXACT : CHECK_BOUNDED,
                      .checked = 32768,
                      .max_error_over_bound = phase == PHASE_EXACT ? 0 : 0.25};
    }
    return added;
}

/* The step at 400 TFLOPS, or less or more. */
static void make_run(const step *step) {
    asked = (options){.m = 100000, .n = 40000, .k = 100, .seed = 1, .rounds = 3};
    gpu.info = GPU;
    result = (verification){.guards_intact = true};
    result.made[0] = result.made[1] = result.made[2] = true;
    times = (timing){.rounds = 3, .launches = 14};
    work = (workload){.step = step,
                      .arithmetic = arithmetic_of(step),
                      .options = &asked,
                      .device = &gpu,
                      .copies = 256,
                      .operand_bytes = 114688,
                      .contender = contenders};
    add(CONTENDER_STEP, "time", "step", "v07", false)->of[SECONDS] = seconds;
    add(CONTENDER_OTHER, "cuBLAS", "cublas", "cuBLAS", false);
    run = (report){.workload = &work, .verification = &result, .timing = &times};
}

static void timed(void) {
    add(CONTENDER_NARROW_SUMS, "cuBLAS 16", "cublas_fp16_sums", "cuBLAS with fp16 sums", true)
        ->of[CLOCK_GHZ] = unknown;
    add(CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt", "cuBLASLt's best", true);
    add(CONTENDER_TUNED, "tuned", "tuned", "the fastest of its kernels", true)->kernel = 3;
    times.tuning = (tuning){.count = 2, .times = ranks};
    verdict_merge(&contenders[1].verdicts[PHASE_TIMED],
                  &(verdict){CHECK_BOUNDED, 10, .max_error_over_bound = 0.5});
    asked.seed = UINT64_MAX;
    asked.kernel = 2;
    result.digested = true;
    result.digest = 0xff;
    times.gated = times.interrupted = true;
    times.heuristics = (heuristics){.returned = 9,
                                    .enumerated = 20,
                                    .cut = true,
                                    .timed = 2,
                                    .winner = {.number = 7, .name = "algorithm 66, tile 20"}};
}

/* By the quick tuner, and by a search as well. */
static void tuned(void) {
    add(CONTENDER_TUNED, "tuned", "tuned", "the quick tuner's pick", true)->kernel = 1;
    add(CONTENDER_BEST, "best", "best", "the fastest of its kernels", true)->kernel = 3;
    times.tuning = (tuning){2, ranks, 8, 1, 0.0098, 0.05, "/home/u/tuned.txt"};
}

static void wrong(void) {
    /* Of several outputs what is first stays. */
    verdict *exact = &contenders[0].verdicts[PHASE_EXACT];
    verdict_merge(exact, &(verdict){CHECK_EXACT, 10, 1, .first_row = 3, .got = 12, .expected = 13});
    verdict_merge(exact, &(verdict){CHECK_EXACT, 10, 4, .first_row = 5, .got = 14});
    contenders[1].verdicts[PHASE_AFTER_TIMING].wrong = 1;
    result.guards_intact = false;
    result.wrong_order = "lazy";
    snprintf(result.guards_text, sizeof result.guards_text, "guards: D of copy 0: somewhere");
    snprintf(result.unlike, sizeof result.unlike, "two launches differ");
    run.timing = NULL;
}

static void calls(void) {
    asked.protocol = PROTOCOL_CALL;
    work.contenders = 1;
    add(CONTENDER_OTHER, "blocks", "cublaslt_block_scales", "cuBLASLt (block scales)", false);
    contenders[0].before_seconds = 3e-3;
    contenders[0].verdicts[PHASE_TIMED].relative_error = 0.00125;
    contenders[1].verdicts[PHASE_TIMED].relative_error = 0.5;
}

/* Alone, and on a card whose times are uncertain and whose peak is not known. */
static void sustained(void) {
    static const device_info laptop = {.name = "Laptop GPU",
                                       .card = "of a laptop",
                                       .driver = "580.1",
                                       .compute_capability = 87,
                                       .power_limit_watts = 80,
                                       .default_power_watts = 115,
                                       .draws = true,
                                       .under_windows = true,
                                       .others = 2,
                                       .other = {"4711 python3", "12"}};
    gpu.info = laptop;
    asked.protocol = PROTOCOL_SUSTAINED;
    times.launches = 0;
    contenders[0].of[WATTS] = watts;
    contenders[0].of[JOULES] = half_seconds;
    work.contenders = 1;
    snprintf(work.without, sizeof work.without, "cuBLASLt, cuBLASLt's best");
}

static void moved(void) {
    asked.m = 25000;
    asked.n = 15000;
    asked.k = 0;
    gpu.info.memory_bytes_per_second = 8e12;
    work.contenders = 1;
    add(CONTENDER_COPY, "copy", "device_copy", "the device copy", true);
    add(CONTENDER_OTHER, "second", "second_opinion", "cublasSgeam", false);
    for (int i = 0; i < PHASES * work.contenders; ++i) {
        contenders[i / PHASES].verdicts[i % PHASES].kind = CHECK_WORDS;
    }
}

static void scalars(void) {
    asked.alpha = -1.0f / 3;
    asked.beta = 1;
}

static void emulated(void) {
    gpu.info = EMULATOR;
    result.made[PHASE_AFTER_TIMING] = false;
    snprintf(result.orders, sizeof result.orders, "eager, lazy");
    snprintf(contenders[1].title, sizeof contenders[1].title, "the host product");
    run.emulation = &counted;
    run.timing = NULL;
}

/* With trials at other shapes, and of a launch that has neither TMA nor conflicts. */
static void default_run(void) {
    static const trial tried[] = {{{.m = 1, .n = 1, .k = 1}, ""},
                                  {{.m = 5, .n = 6}, ""},
                                  {{.m = 8, .n = 9, .k = 10, .kernel = 1}, ""},
                                  {{.m = 8, .n = 9, .k = 10, .kernel = 2}, ""}};
    static emulation plain = {
        "lazy", {.copied_bytes = 5, .mmas = 6, .ctas = 1, .clusters = 1}, .sites = 0};
    emulated();
    run.emulation = &plain;
    run.trial = tried;
    run.trials = sizeof tried / sizeof *tried;
}

static const struct row {
    const char *name;
    const step *step;
    void (*change)(void);
} ROWS[] = {
    {"all that is timed beside a step", &A06, timed},
    {"a quick tuner and a search", &V07, tuned},
    {"a wrong result, which has no row", &V07, wrong},
    {"scales of blocks, and calls", &F03, calls},
    {"power, and a doubtful card", &F01, sustained},
    {"what moves words", &T02, moved},
    {"alpha, beta, and nothing that is computed", &A01, scalars},
    {"an emulated run", &V07, emulated},
    {"an emulated default run", &V07, default_run},
};
static const struct row *current;

/* Prints the row, without what differs each time. */
static void print_row(FILE *out, const char *row) {
    static const char *const keys[] = {"\"date\":\"", "\"commit\":\""};
    for (int i = 0; i < 2; ++i) {
        const char *key = strstr(row, keys[i]);
        EXPECT(key != NULL, "no %s", keys[i]);
        if (key != NULL) {
            key += strlen(keys[i]);
            fprintf(out, "%.*s", (int)(key - row), row);
            row = key + strcspn(key, "\"");
        }
    }
    fputs(row, out);
}

/* All of it; the row comes by a pipe. */
static void says(void) {
    char path[32], row[8192] = "";
    int ends[2];
    FILE *out = golden_begin();
    make_run(current->step);
    current->change();
    report_print_setup(out, &run);
    report_print_verification(out, &run);
    report_print_measured(out, &run);
    if (verification_right(&result, &work) && pipe(ends) == 0) {
        snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
        report_write(&run, path);
        EXPECT(read(ends[0], row, sizeof row - 1) > 0, "no row");
        print_row(out, row);
        close(ends[0]);
        close(ends[1]);
    }
    golden_end(out, current->name);
}

/* The tensor cores' peaks, in flop of a cycle of an SM, of fp16 and fp32 sums. */
static void peaks(void) {
    static const device_info cards[] = {
        {.compute_capability = 80, .name = "NVIDIA A100"},
        {.compute_capability = 86, .name = "NVIDIA GeForce RTX 3090"},
        {.compute_capability = 86, .name = "NVIDIA RTX A6000"},
        {.compute_capability = 87, .name = "Orin"},
        {.compute_capability = 89, .name = "NVIDIA GeForce RTX 4060 Laptop"},
        {.compute_capability = 89, .name = "NVIDIA L40S"},
        {.compute_capability = 90, .name = "NVIDIA H200"},
        {.compute_capability = 100, .name = "NVIDIA B200"},
        {.compute_capability = 120, .name = "NVIDIA GeForce RTX 5090"}};
    FILE *out = golden_begin();
    make_run(&A06);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; ++i) {
        fprintf(out, "%s:", cards[i].name);
        gpu.info = cards[i];
        gpu.info.sms = 1;
        for (int fp32 = 0; fp32 < 2; ++fp32) {
            work.arithmetic.fp16_sums = !fp32;
            const double share = timing_summarize(&work, &contenders[0], 1).of[SHARE];
            const double flop = arithmetic_work(&work.arithmetic, asked.m, asked.n, asked.k);
            fprintf(out, " %.0f", flop / (seconds[0] * clock_ghz[0] * 1e9) / share);
        }
        fputc('\n', out);
    }
    golden_end(out, "peaks");
}

static void every_verdict_counts(void) {
    for (int i = 0; i < PHASES * 2; ++i) {
        make_run(&V07);
        EXPECT(verification_right(&result, &work), "right");
        contenders[i % 2].verdicts[i / 2].wrong = 1;
        EXPECT(!verification_right(&result, &work), "phase %d, contender %d", i / 2, i % 2);
        result.made[i / 2] = false;
        EXPECT(verification_right(&result, &work), "phase %d was not made", i / 2);
        result.guards_intact = false;
        EXPECT(!verification_right(&result, &work), "guards");
    }
}

int main(void) {
    golden_open("tests/unit/test_report.txt");
    for (current = ROWS; current < ROWS + sizeof ROWS / sizeof *ROWS; ++current) {
        run_row("report", current->name, says);
    }
    run_case("report: the peak by card and width of the sums", peaks);
    run_case("report: every check counts", every_verdict_counts);
    return test_result();
}
