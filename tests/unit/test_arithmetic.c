/* What the harness makes of a computation, of its shapes and of measurements, worked out by hand;
 * and integers that no order of summation rounds. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/reference.h"
#include "harness/timing.h"
#include "harness/workload.h"
#include "../../emulator/tests/test.h"

static const step tiled = {
    .name = "v07", .computes = GEMM_BF16, .multiple_m = 128, .multiple_n = 256, .multiple_k = 64};
static const step loose = {.name = "v00", .computes = GEMM_BF16, .multiple_n = 12, .multiple_k = 1};
static const step any_row = {
    .name = "v21", .computes = GEMM_BF16, .multiple_n = 1, .any_row = true};
static const step limited = {.name = "a03", .computes = GEMM_FP16, .largest_k = 1 << 23};
static const step half = {.name = "a06", .computes = GEMM_FP16};
static const step half_sums = {.name = "a06", .computes = GEMM_FP16, .fp16_sums = true};
static const step fp8 = {.name = "f01", .computes = GEMM_FP8};
static const step addmm = {.name = "a01", .computes = ADDMM_FP16};
static const step adds_one = {.name = "t01", .computes = ADD_ONE_INT32, .multiple_m = 1};
static const step transposes = {.name = "t02", .computes = TRANSPOSE_FP32, .multiple_n = 8};
static char error[512];

/* ---- shapes */

typedef struct row {
    const char *name; /* of the case that begins here; NULL: it goes on */
    const step *step;
    int m, n, k;
    const char *error; /* what the error has in it; NULL: the shape is taken */
} row;

static const row ROWS[] = {
    {"supported shapes are taken", &tiled, 128, 256, 64, NULL},
    {NULL, &tiled, 8192, 8192, 8192, NULL},
    {NULL, &loose, 1, 24, 8, NULL},
    {NULL, &loose, 1 << 30, 24, 1 << 24, NULL},
    {"others are refused in words", &tiled, 100, 256, 64,
     "m=100 is not a multiple of 128 (v07 takes m: multiples of 128, n: multiples of 256, k: "
     "multiples of 64)"},
    {NULL, &tiled, 128, 128, 64, "n=128"},
    {NULL, &tiled, 128, 256, 32, "k=32"},
    {NULL, &tiled, 0, 256, 64, "m=0"},
    {NULL, &tiled, 128, -256, 64, "n=-256"},
    {NULL, &loose, 1 << 19, 524280, 8, NULL},
    {NULL, &loose, 2000000, 1999992, 8,
     "m=2000000 n=1999992: D may have at most 274877906944 elements"},
    {NULL, &loose, (1 << 30) + 1, 24, 8, "m=1073741825: must be from 1 to 1073741824"},
    {"rows are multiples of 16 bytes", &loose, 1, 12, 8, "n: multiples of 24"},
    {NULL, &loose, 1, 24, 4, "k=4"},
    {"rows of any length, where a rung takes them", &any_row, 1, 1, 1, NULL},
    {NULL, &any_row, 3, 12, 4097, NULL},
    {NULL, &any_row, 3, 0, 7, "n=0"},
    {"fp16 and fp32 rows", &half, 3, 8, 8, NULL},
    {NULL, &half, 3, 12, 8, "n=12"},
    {NULL, &addmm, 3, 12, 8, NULL},
    {NULL, &addmm, 3, 14, 8, "n=14"},
    {NULL, &addmm, 3, 12, 4, "k=4"},
    {NULL, &half, 3, 8, 1 << 25, NULL},
    {"rows of e4m3", &fp8, 3, 8, 16, NULL},
    {NULL, &fp8, 3, 8, 24, "k=24 is not a multiple of 16"},
    {NULL, &fp8, 3, 8, 1 << 25, NULL},
    {"matrices that are moved", &adds_one, 1, 4, 0, NULL},
    {NULL, &adds_one, 3, 1 << 30, 0, NULL},
    {NULL, &adds_one, 3, INT_MAX - 3, 0, "n=2147483644: must be from 1 to 1073741824"},
    {NULL, &adds_one, 4, 2, 0, "n=2"},
    {NULL, &transposes, 4, 8, 0, NULL},
    {NULL, &transposes, 4, 4, 0, "n=4"},
    {NULL, &transposes, 1, 8, 0,
     "m=1 is not a multiple of 4 (t02 takes m: multiples of 4, n: multiples of 8, since TMA copies "
     "rows of whole 16 bytes and rows of A have n elements, rows of D m)"},
    {"rows that a rung cannot address are refused", &limited, 256, 8, 1 << 23, NULL},
    {NULL, &limited, 256, 8, 8500000, "k=8500000: must be from 1 to 8388608"},
    {"k beyond exact sums is refused", &loose, 1, 24, (1 << 24) + 8, "16777216"},
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

static size_t first; /* row of the case that runs */

static void rows(void) {
    for (size_t i = first; i < ROW_COUNT && (i == first || ROWS[i].name == NULL); ++i) {
        const row *row = &ROWS[i];
        const int refused = shape_check(row->step, row->m, row->n, row->k, error, sizeof error);
        EXPECT((refused != 0) == (row->error != NULL), "m=%d n=%d k=%d", row->m, row->n, row->k);
        EXPECT(refused == 0 || strstr(error, row->error) != NULL, "%s", error);
    }
}

static void expect_rounded_up(const step *step, int m, int n, int k, problem up) {
    shape_round_up(step, &m, &n, &k);
    EXPECT(m == up.m && n == up.n && k == up.k, "m=%d n=%d k=%d", m, n, k);
}

static void rounding_up(void) {
    expect_rounded_up(&tiled, 1, 257, 64, (problem){.m = 128, .n = 512, .k = 64});
    expect_rounded_up(&loose, 128, 512, 64, (problem){.m = 128, .n = 528, .k = 64});
    expect_rounded_up(&any_row, 3, 5, 7, (problem){.m = 3, .n = 5, .k = 7});
    expect_rounded_up(&transposes, 1, 9, 0, (problem){.m = 4, .n = 16});
}

static void copies(void) {
    static const struct {
        size_t bytes, most, copies;
    } rows[] = {{384 << 20, 100, 2}, /* large operands */
                {6 << 20, 100, 20},  /* twice the L2 */
                {7 << 20, 100, 18},  /* rounded up */
                {1024, 1000, 256},   /* at most */
                {384 << 20, 1, 1},   /* all that fits */
                {6 << 20, 5, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const size_t found = workload_copies(rows[i].bytes, 60 << 20, rows[i].most);
        EXPECT(found == rows[i].copies, "row %zu: %zu", i, found);
    }
}

/* ---- numbers */

static integers integers_of(const step *step, int64_t k, float alpha, float beta) {
    const arithmetic arithmetic = arithmetic_of(step);
    return arithmetic_integers(&arithmetic, k, alpha, beta);
}

static void computations(void) {
    const step unknown = {.computes = (enum computation)99};
    const arithmetic sums = arithmetic_of(&half_sums);
    const arithmetic transposed = arithmetic_of(&transposes);
    EXPECT(strcmp(arithmetic_of(&tiled).name, "gemm_bf16") == 0, "bf16");
    EXPECT(sums.fp16_sums && !arithmetic_of(&half).fp16_sums, "fp16");
    EXPECT(arithmetic_of(&addmm).takes_c && arithmetic_of(&addmm).output == NUMBER_FP32, "addmm");
    EXPECT(arithmetic_of(&unknown).name == NULL, "unknown");
    EXPECT(arithmetic_work(&transposed, 32768, 65536, 0) == 17179869184.0, "bytes");
    EXPECT(arithmetic_work(&sums, 8192, 8192, 8192) == 1099511627776.0, "flop");
    EXPECT(arithmetic_rounding(&sums, 4096, true).to_fp16 == 512, "fp16 sums");
    EXPECT(arithmetic_rounding(&sums, 4, true).to_fp16 == 1, "less than one group");
    EXPECT(arithmetic_rounding(&sums, 4096, false).to_fp16 == 0, "fp32 sums");
    EXPECT(arithmetic_rounding(&sums, 4096, false).to_fp32 == 4096, "fp32 sums");
    const arithmetic with_c = arithmetic_of(&addmm);
    EXPECT(arithmetic_rounding(&with_c, 4096, true).to_fp32 == 4096 + 3, "alpha, beta and C");
}

static void integer_range(void) {
    static const int largest_k[] = {1 << 24, 1 << 22, (1 << 24) / 9, 1 << 20}; /* of 1, 2, 3, 4 */
    for (int range = 1; range <= LARGEST_INTEGER_RANGE; ++range) {
        const int k = largest_k[range - 1];
        EXPECT(random_integer_range(k, 1 << 24) == range, "k=%d", k);
        EXPECT(random_integer_range(k + 1, 1 << 24) == range - 1, "k=%d", k + 1);
    }
}

/* The largest sum of |a||b| that a row can have. */
static int64_t largest_sum(integers integers, int64_t k) {
    const int64_t used = (k + integers.spacing - 1) / integers.spacing;
    return used * integers.range * integers.range;
}

static void sums_stay_exact(void) {
    for (int64_t k = 8; k < 200000; k += k / 7 / 8 * 8 + 8) {
        EXPECT(largest_sum(integers_of(&tiled, k, 1, 1), k) <= 1 << 24, "bf16, k=%d", (int)k);
        EXPECT(largest_sum(integers_of(&half, k, 1, 1), k) <= 65504, "fp16, k=%d", (int)k);
        EXPECT(largest_sum(integers_of(&half_sums, k, 1, 1), k) <= 2048, "sums, k=%d", (int)k);
        EXPECT(integers_of(&tiled, k, 1, 1).range == random_integer_range(k, EXACT_INTEGER_LIMIT) &&
                   integers_of(&tiled, k, 1, 1).spacing == 1,
               "bf16 has the integers that it always had");
    }
    EXPECT(integers_of(&half_sums, 128, 1, 1).range == 4, "128");
    EXPECT(integers_of(&half_sums, 2048, 1, 1).spacing == 1, "2048");
    EXPECT(integers_of(&half_sums, 2056, 1, 1).spacing == 2, "2056");
    EXPECT(integers_of(&half_sums, 8192, 1, 1).spacing == 4, "8192");
}

static bool is_fp32(double value) { return (double)(float)value == value; }

/* What a rung may round on the way from s and c to D. */
static void expect_exact(float alpha, float beta, float s, float c) {
    const double result = (double)alpha * (double)s + (double)beta * (double)c;
    EXPECT(is_fp32(result) && is_fp32((double)alpha * (double)s) &&
               is_fp32((double)beta * (double)c),
           "alpha=%g beta=%g s=%g c=%g", (double)alpha, (double)beta, (double)s, (double)c);
}

static void scalars_stay_exact(void) {
    static const float scalars[] = {0, 1, -1, -2.5f, 0.5f, 3, 15.9375f};
    enum { COUNT = sizeof scalars / sizeof *scalars, K = 8192 };
    for (int i = 0; i < COUNT * COUNT; ++i) {
        const float alpha = scalars[i / COUNT];
        const float beta = scalars[i % COUNT];
        const integers integers = integers_of(&addmm, K, alpha, beta);
        if (!integers.exact) {
            EXPECT(fabsf(alpha) > 15, "alpha=%g beta=%g", (double)alpha, (double)beta);
            continue;
        }
        const int64_t most = largest_sum(integers, K);
        for (int j = -integers.c_range; j <= integers.c_range; ++j) {
            const float c = (float)j;
            expect_exact(alpha, beta, (float)most, c);
            expect_exact(alpha, beta, (float)-most, c);
            expect_exact(alpha, beta, 7, c);
        }
    }
    EXPECT(!integers_of(&addmm, K, 0.3f, 1).exact, "0.3");
    EXPECT(!integers_of(&addmm, K, 1, 1000).exact, "1000");
    EXPECT(integers_of(&addmm, 1 << 26, -2.5f, 1).spacing > 1, "a very long sum");
}

static void epilogue(void) {
    const float c[] = {NAN, 4};
    problem problem = {.c = c, .alpha = -2, .beta = 0.5f};
    double value = 3;
    double magnitude = 5;
    reference_epilogue(&problem, 1, &value, &magnitude);
    EXPECT(value == -4 && magnitude == 12, "%g, %g", value, magnitude);
    problem.beta = 0;
    value = 3;
    magnitude = 5;
    reference_epilogue(&problem, 0, &value, &magnitude);
    EXPECT(value == -6 && magnitude == 10, "C is looked at: %g", value);
    problem.alpha = 0;
    problem.beta = 0.5f;
    value = magnitude = NAN;
    reference_epilogue(&problem, 1, &value, &magnitude);
    EXPECT(value == 2 && magnitude == 2, "A and B are looked at: %g", value);
}

/* ---- measurements */

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

static void quantiles(void) {
    static const struct {
        double values[6]; /* NAN: not measured */
        double low, median, high;
    } rows[] = {{{5, 1, 3, NAN, NAN, NAN}, 1.4, 3, 4.6},
                {{4, 1, 3, 2, NAN, NAN}, 1.3, 2.5, 3.7},
                {{5, INFINITY, -INFINITY, NAN, NAN, NAN}, 5, 5, 5},
                {{0, 10, 20, 30, 40, 50}, 5, 25, 45},
                {{NAN, NAN, NAN, NAN, NAN, NAN}, NAN, NAN, NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const summary s = summarize(rows[i].values, 6);
        EXPECT(isnan(rows[i].median) ? isnan(s.low + s.median + s.high)
                                     : near(s.low, rows[i].low) && near(s.high, rows[i].high) &&
                                           s.median == rows[i].median,
               "row %zu: %g (%g to %g)", i, s.median, s.low, s.high);
    }
    EXPECT(isnan(median(NULL, 0)), "nothing measured");
}

static void times(void) {
    double step_seconds[] = {1e-3, 2e-3, 4e-3};
    double cublas_seconds[] = {2e-3, 2e-3, 2e-3};
    double clock_ghz[] = {1, 1, 1};
    double unknown[] = {NAN, NAN, NAN};
    static const options o = {.m = 1024, .n = 2000, .k = 1000};
    contender contenders[] = {
        {.role = CONTENDER_STEP, .of = {step_seconds, clock_ghz, unknown, unknown}},
        {.role = CONTENDER_OTHER, .of = {cublas_seconds, unknown, unknown, unknown}}};
    const device gpu = {.info = {.compute_capability = 90, .sms = 2}};
    workload workload = {.step = &tiled,
                         .options = &o,
                         .device = &gpu,
                         .arithmetic = arithmetic_of(&tiled),
                         .contenders = 2,
                         .contender = contenders};
    const timing_summary step = timing_summarize(&workload, &contenders[0], 3);
    EXPECT(step.of[SECONDS] == 2e-3 && near(step.rate.median, 2.048), "%g TFLOPS",
           step.rate.median);
    /* 4.096e9 flop in 2e6 cycles on 2 SMs of 4096 flop per cycle: a quarter. */
    EXPECT(near(step.of[SHARE], 0.25), "share %g", step.of[SHARE]);
    EXPECT(isnan(step.of[WATTS]) && isnan(step.of[JOULES]), "power was not measured");
    const timing_summary cublas = timing_summarize(&workload, &contenders[1], 3);
    EXPECT(isnan(cublas.of[SHARE]) && isnan(cublas.of[CLOCK_GHZ]), "unknown clock");
    EXPECT(cublas.ratio.median == 1 && near(cublas.ratio.low, 0.6) && near(cublas.ratio.high, 1.8),
           "%g (%g to %g)", cublas.ratio.median, cublas.ratio.low, cublas.ratio.high);
    workload.arithmetic = arithmetic_of(&fp8);
    EXPECT(near(timing_summarize(&workload, &contenders[0], 3).of[SHARE], 0.125),
           "8 bits: twice the rate");
}

static void peaks(void) {
    static const struct {
        const char *name;
        int compute_capability;
        double fp16_sums, fp32_sums; /* 0: not known */
    } ROWS_OF_PEAKS[] = {{"NVIDIA A100", 80, 2048, 2048},
                         {"NVIDIA GeForce RTX 3090", 86, 1024, 512},
                         {"NVIDIA RTX A6000", 86, 1024, 0},
                         {"Orin", 87, 0, 0},
                         {"NVIDIA GeForce RTX 4060 Laptop GPU", 89, 1024, 512},
                         {"NVIDIA L40S", 89, 1024, 0},
                         {"NVIDIA H200", 90, 4096, 4096},
                         {"NVIDIA B200", 100, 0, 0},
                         {"NVIDIA GeForce RTX 5090", 120, 1024, 512}};
    static const options o = {.m = 1000, .n = 1000, .k = 500}; /* 1e9 flop in 1e9 cycles */
    double one = 1;
    contender contender = {.role = CONTENDER_STEP, .of = {&one, &one, &one, &one}};
    device gpu = {.info = {.sms = 1}};
    workload workload = {.step = &half,
                         .options = &o,
                         .device = &gpu,
                         .arithmetic = arithmetic_of(&half),
                         .contenders = 1,
                         .contender = &contender};
    for (size_t i = 0; i < 2 * sizeof ROWS_OF_PEAKS / sizeof *ROWS_OF_PEAKS; ++i) {
        const bool fp16_sums = i % 2 == 0;
        const double wanted =
            fp16_sums ? ROWS_OF_PEAKS[i / 2].fp16_sums : ROWS_OF_PEAKS[i / 2].fp32_sums;
        workload.arithmetic.fp16_sums = fp16_sums;
        gpu.info.compute_capability = ROWS_OF_PEAKS[i / 2].compute_capability;
        snprintf(gpu.info.name, sizeof gpu.info.name, "%s", ROWS_OF_PEAKS[i / 2].name);
        const double share = timing_summarize(&workload, &contender, 1).of[SHARE];
        EXPECT(wanted > 0 ? near(share, 1 / wanted) : isnan(share), "%s, %s sums: %g",
               gpu.info.name, fp16_sums ? "fp16" : "fp32", share);
    }
}

static const struct {
    const char *name;
    void (*body)(void);
} CASES[] = {
    {"shape: rounding up to what is taken", rounding_up},
    {"shape: number of operand copies", copies},
    {"arithmetic: what is computed, and what is rounded", computations},
    {"arithmetic: range of exact integers", integer_range},
    {"arithmetic: sums of the exact check's integers", sums_stay_exact},
    {"arithmetic: alpha and beta in the exact check", scalars_stay_exact},
    {"arithmetic: alpha, beta and C, and what 0 leaves out", epilogue},
    {"statistics: quantiles interpolate, and leave out what was not measured", quantiles},
    {"statistics: times, shares and ratios", times},
    {"statistics: the tensor cores' peak by card and width of the sums", peaks},
};

int main(void) {
    for (; first < ROW_COUNT; ++first) {
        if (ROWS[first].name != NULL) {
            run_row("shape", ROWS[first].name, rows);
        }
    }
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
        run_case(CASES[i].name, CASES[i].body);
    }
    return test_result();
}
