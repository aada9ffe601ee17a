/* What the harness makes of a computation, of its shapes and of measurements, worked out by hand;
 * and integers that no order of summation rounds. */
#include <limits.h>
#include <math.h>

#include "golden.h"
#include "harness/timing.h"

static const step tiled = {
    .name = "v07", .computes = GEMM_BF16, .multiple_m = 128, .multiple_n = 256, .multiple_k = 64};
static const step loose = {.name = "v00", .computes = GEMM_BF16, .multiple_n = 12, .multiple_k = 1};
static const step any_row = {
    .name = "s07", .computes = GEMM_BF16, .multiple_n = 1, .any_row = true};
static const step limited = {.name = "a03", .computes = GEMM_FP16, .largest_k = 1 << 23};
static const step half = {.name = "a06", .computes = GEMM_FP16};
static const step half_sums = {.name = "a06", .computes = GEMM_FP16, .fp16_sums = true};
static const step fp8 = {.name = "f01", .computes = GEMM_FP8};
static const step addmm = {.name = "a01", .computes = ADDMM_FP16};
static const step adds_one = {.name = "t01", .computes = ADD_ONE_INT32, .multiple_m = 1};
static const step transposes = {.name = "t02", .computes = TRANSPOSE_FP32, .multiple_n = 8};

/* ---- shapes */

/* The rows of a golden text are cases: what is before the colon is given, all else is found. */
static const char *first_row(const char *name) {
    char heading[64];
    snprintf(heading, sizeof heading, GOLDEN_HEADING "%s\n", name);
    const char *found = strstr(kept_texts, heading);
    return found == NULL ? "" : found + strlen(heading);
}

static const char *next_row(const char *row) { return row + strcspn(row, "\n") + 1; }

/* Whether they are taken or why not, and to what they round up. */
static void shapes(void) {
    static const step *const steps[] = {&tiled, &loose, &any_row,  &limited,   &half,
                                        &fp8,   &addmm, &adds_one, &transposes};
    FILE *out = golden_begin();
    char name[8], error[512];
    int m, n, k;
    for (const char *row = first_row("shapes");
         sscanf(row, "%7[^,], %d x %d x %d", name, &m, &n, &k) == 4; row = next_row(row)) {
        const step *step = steps[0];
        for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
            step = strcmp(steps[i]->name, name) == 0 ? steps[i] : step;
        }
        snprintf(error, sizeof error, "taken");
        shape_check(step, m, n, k, error, sizeof error);
        fprintf(out, "%s, %d x %d x %d: %s", step->name, m, n, k, error);
        if (m < 1 << 30 && n < 1 << 30) {
            shape_round_up(step, &m, &n, &k);
            fprintf(out, "; rounds up to %d x %d x %d", m, n, k);
        }
        fprintf(out, "\n");
    }
    golden_end(out, "shapes");
}

/* Of operands of these sizes, with an L2 of 60 MiB, and this many that fit. */
static void copies(void) {
    FILE *out = golden_begin();
    size_t bytes, most;
    for (const char *row = first_row("copies");
         sscanf(row, "%zu bytes, at most %zu", &bytes, &most) == 2; row = next_row(row)) {
        fprintf(out, "%zu bytes, at most %zu: %zu\n", bytes, most,
                workload_copies(bytes, 60 << 20, most));
    }
    golden_end(out, "copies");
}

/* ---- numbers */

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

/* ---- measurements */

/* They interpolate, and leave out what was not measured. */
static void quantiles(void) {
    FILE *out = golden_begin();
    static const double rows[][6] = {{5, 1, 3, NAN, NAN, NAN},
                                     {4, 1, 3, 2, NAN, NAN},
                                     {5, INFINITY, -INFINITY, NAN, NAN, NAN},
                                     {0, 10, 20, 30, 40, 50},
                                     {NAN, NAN, NAN, NAN, NAN, NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const summary s = summarize(rows[i], 6);
        fprintf(out, "%g %g %g ...: %.12g (%.12g to %.12g)\n", rows[i][0], rows[i][1], rows[i][2],
                s.median, s.low, s.high);
    }
    fprintf(out, "nothing: %g\n", median(NULL, 0));
    golden_end(out, "quantiles");
}

int main(void) {
    golden_open("tests/unit/test_arithmetic.txt");
    run_case("shape: what is taken, what rounds up to it, and others are refused in words", shapes);
    run_case("shape: number of operand copies", copies);
    run_case("arithmetic: sums of the exact check's integers", sums_stay_exact);
    run_case("arithmetic: alpha and beta in the exact check", scalars_stay_exact);
    run_case("statistics: quantiles interpolate, and leave out what was not measured", quantiles);
    return test_result();
}
