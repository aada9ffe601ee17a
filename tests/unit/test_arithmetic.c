/* What the harness makes of a computation, of its shapes and of measurements, worked out by hand;
 * and integers that no order of summation rounds. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "harness/timing.h"
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

/* ---- shapes */

static void shapes(void) {
    static const struct {
        const step *step;
        int m, n, k;
        const char *error; /* what the error has in it; NULL: the shape is taken */
    } rows[] = {
        {&tiled, 128, 256, 64, NULL},
        {&loose, 1, 24, 8, NULL},
        {&loose, 1 << 30, 24, 1 << 25, NULL},
        {&tiled, 100, 256, 64,
         "m=100 is not a multiple of 128 (v07 takes m: multiples of 128, n: multiples of 256, k: "
         "multiples of 64)"},
        {&tiled, 128, 128, 64, "n=128"},
        {&tiled, 128, 256, 32, "k=32"},
        {&tiled, 128, -256, 64, "n=-256"},
        {&loose, 2000000, 1999992, 8,
         "m=2000000 n=1999992: D may have at most 274877906944 elements"},
        {&loose, (1 << 30) + 1, 24, 8, "m=1073741825: must be from 1 to 1073741824"},
        {&loose, 1, 12, 8, "n: multiples of 24"}, /* rows of 16 bytes */
        {&loose, 1, 24, 4, "k=4"},
        {&any_row, 3, 12, 4097, NULL},
        {&any_row, 3, 0, 7, "n=0"},
        {&half, 3, 12, 8, "n=12"},
        {&addmm, 3, 14, 8, "n=14"},
        {&fp8, 3, 8, 16, NULL},
        {&fp8, 3, 8, 24, "k=24 is not a multiple of 16"},
        {&adds_one, 3, 1 << 30, 0, NULL},
        {&adds_one, 3, INT_MAX - 3, 0, "n=2147483644: must be from 1 to 1073741824"},
        {&transposes, 4, 8, 0, NULL},
        {&transposes, 1, 8, 0,
         "m=1 is not a multiple of 4 (t02 takes m: multiples of 4, n: multiples of 8, since TMA "
         "copies rows of whole 16 bytes)"},
        {&limited, 256, 8, 1 << 23, NULL},
        {&limited, 256, 8, 8500000, "k=8500000: must be from 1 to 8388608"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char error[512] = "";
        const int refused =
            shape_check(rows[i].step, rows[i].m, rows[i].n, rows[i].k, error, sizeof error);
        EXPECT((refused != 0) == (rows[i].error != NULL), "row %zu", i);
        EXPECT(refused == 0 || strstr(error, rows[i].error) != NULL, "%s", error);
    }
}

static void rounding_up(void) {
    static const struct {
        const step *step;
        int shape[3], up[3];
    } rows[] = {{&tiled, {1, 257, 64}, {128, 512, 64}},
                {&loose, {128, 512, 64}, {128, 528, 64}},
                {&any_row, {3, 5, 7}, {3, 5, 7}},
                {&transposes, {1, 9, 0}, {4, 16, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        int m = rows[i].shape[0], n = rows[i].shape[1], k = rows[i].shape[2];
        shape_round_up(rows[i].step, &m, &n, &k);
        EXPECT(m == rows[i].up[0] && n == rows[i].up[1] && k == rows[i].up[2], "m=%d n=%d k=%d", m,
               n, k);
    }
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
}

static integers integers_of(const step *step, int64_t k, float alpha, float beta) {
    const arithmetic arithmetic = arithmetic_of(step);
    return arithmetic_integers(&arithmetic, k, alpha, beta);
}

/* The largest sum of |a||b| that a row can have. */
static int64_t largest_sum(integers integers, int64_t k) {
    const int64_t used = (k + integers.spacing - 1) / integers.spacing;
    return used * integers.range * integers.range;
}

/* No sum passes the limit, and no larger range or denser row would do. */
static void sums_stay_exact(void) {
    static const struct {
        const step *step;
        int64_t limit;
    } rows[] = {{&tiled, 1 << 24}, {&half, 65504}, {&half_sums, 2048}, {&fp8, 16384}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int64_t k = 8; k < 1 << 26; k += k / 7 / 8 * 8 + 8) {
            const integers found = integers_of(rows[i].step, k, 1, 1);
            const struct integers wider = {true, found.range + 1, found.spacing};
            const struct integers denser = {true, 1, found.spacing - 1};
            EXPECT(found.exact && largest_sum(found, k) <= rows[i].limit, "row %zu, k=%d", i,
                   (int)k);
            EXPECT(found.range == LARGEST_INTEGER || largest_sum(wider, k) > rows[i].limit,
                   "row %zu, k=%d: range %d", i, (int)k, found.range);
            EXPECT(found.spacing == 1 || largest_sum(denser, k) > rows[i].limit,
                   "row %zu, k=%d: spacing %d", i, (int)k, found.spacing);
        }
    }
    EXPECT(integers_of(&half_sums, 128, 1, 1).range == 4, "128");
    EXPECT(integers_of(&half_sums, 2048, 1, 1).spacing == 1, "2048");
    EXPECT(integers_of(&half_sums, 2056, 1, 1).spacing == 2, "2056");
}

static bool is_fp32(double value) { return (double)(float)value == value; }

/* What a rung may round on the way from s and c to D. */
static void scalars_stay_exact(void) {
    static const float scalars[] = {0, 1, -1, -2.5f, 0.5f, 3, 15.9375f};
    enum { COUNT = sizeof scalars / sizeof *scalars, K = 8192 };
    for (int i = 0; i < COUNT * COUNT; ++i) {
        const double alpha = (double)scalars[i / COUNT];
        const double beta = (double)scalars[i % COUNT];
        const integers integers = integers_of(&addmm, K, (float)alpha, (float)beta);
        const double most = (double)largest_sum(integers, K);
        const double sums[] = {most, -most, 7};
        EXPECT(integers.exact, "alpha=%g beta=%g", alpha, beta);
        for (int j = 0; j < 3 * (2 * LARGEST_INTEGER + 1); ++j) {
            const double s = alpha * sums[j % 3];
            const double c = beta * (j / 3 - LARGEST_INTEGER);
            EXPECT(is_fp32(s) && is_fp32(c) && is_fp32(s + c), "alpha=%g beta=%g: %g + %g", alpha,
                   beta, s, c);
        }
    }
    EXPECT(!integers_of(&addmm, K, 0.3f, 1).exact && !integers_of(&addmm, K, 1, 1000).exact,
           "scalars that are no sixteenths, or too large");
    EXPECT(integers_of(&addmm, 1 << 26, -2.5f, 1).spacing > 1, "a very long sum");
}

static void epilogue(void) {
    static const struct {
        float alpha, beta;
        size_t position; /* of a C whose first element is NaN */
        sums sums;
        double value, magnitude;
    } rows[] = {{-2, 0.5f, 1, {3, 5, 0}, -4, 12},
                {-2, 0, 0, {3, 5, 0}, -6, 10},
                {0, 0.5f, 1, {NAN, NAN, 0}, 2, 2}};
    static const float c[] = {NAN, 4};
    const arithmetic arithmetic = arithmetic_of(&addmm);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const problem problem = {.c = c, .alpha = rows[i].alpha, .beta = rows[i].beta};
        const expected found =
            reference_epilogue(&arithmetic, &problem, rows[i].position, rows[i].sums);
        const double share = (double)found.magnitude / rows[i].magnitude;
        EXPECT(found.value == rows[i].value && share > 1 && share < 1 + 0x1p-22, "row %zu: %g, %g",
               i, found.value, (double)found.magnitude);
    }
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
        device_info gpu;
        double fp16_sums, fp32_sums; /* 0: not known */
    } rows[] = {{{.compute_capability = 80, .name = "NVIDIA A100"}, 2048, 2048},
                {{.compute_capability = 86, .name = "NVIDIA GeForce RTX 3090"}, 1024, 512},
                {{.compute_capability = 86, .name = "NVIDIA RTX A6000"}, 1024, 0},
                {{.compute_capability = 87, .name = "Orin"}, 0, 0},
                {{.compute_capability = 89, .name = "NVIDIA GeForce RTX 4060 Laptop"}, 1024, 512},
                {{.compute_capability = 89, .name = "NVIDIA L40S"}, 1024, 0},
                {{.compute_capability = 90, .name = "NVIDIA H200"}, 4096, 4096},
                {{.compute_capability = 100, .name = "NVIDIA B200"}, 0, 0},
                {{.compute_capability = 120, .name = "NVIDIA GeForce RTX 5090"}, 1024, 512}};
    static const options o = {.m = 1000, .n = 1000, .k = 500}; /* 1e9 flop in 1e9 cycles */
    double one = 1;
    contender contender = {.role = CONTENDER_STEP, .of = {&one, &one, &one, &one}};
    device gpu;
    workload workload = {.step = &half,
                         .options = &o,
                         .device = &gpu,
                         .arithmetic = arithmetic_of(&half),
                         .contenders = 1,
                         .contender = &contender};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; ++i) {
        const bool fp16_sums = i % 2 == 0;
        const double wanted = fp16_sums ? rows[i / 2].fp16_sums : rows[i / 2].fp32_sums;
        workload.arithmetic.fp16_sums = fp16_sums;
        gpu.info = rows[i / 2].gpu;
        gpu.info.sms = 1;
        const double share = timing_summarize(&workload, &contender, 1).of[SHARE];
        EXPECT(wanted > 0 ? near(share, 1 / wanted) : isnan(share), "%s, %s sums: %g",
               gpu.info.name, fp16_sums ? "fp16" : "fp32", share);
    }
}

int main(void) {
    run_case("shape: what is taken, and others are refused in words", shapes);
    run_case("shape: rounding up to what is taken", rounding_up);
    run_case("shape: number of operand copies", copies);
    run_case("arithmetic: what is computed", computations);
    run_case("arithmetic: sums of the exact check's integers", sums_stay_exact);
    run_case("arithmetic: alpha and beta in the exact check", scalars_stay_exact);
    run_case("arithmetic: alpha, beta and C, and what 0 leaves out", epilogue);
    run_case("statistics: quantiles interpolate, and leave out what was not measured", quantiles);
    run_case("statistics: times, shares and ratios", times);
    run_case("statistics: the tensor cores' peak by card and width of the sums", peaks);
    return test_result();
}
