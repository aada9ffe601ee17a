/* What the harness makes of a computation, and integers that no order of summation rounds. */
#include <math.h>
#include <string.h>

#include "harness/arithmetic.h"
#include "harness/reference.h"
#include "test.h"

static const step bf16 = {.computes = GEMM_BF16};
static const step fp16 = {.computes = GEMM_FP16};
static const step fp16_sums = {.computes = GEMM_FP16, .fp16_sums = true};
static const step addmm = {.computes = ADDMM_FP16};

static integers integers_of(const step *step, int64_t k, float alpha, float beta) {
    const arithmetic arithmetic = arithmetic_of(step);
    return arithmetic_integers(&arithmetic, k, alpha, beta);
}

static void computations(void) {
    const step unknown = {.computes = (enum computation)99};
    EXPECT(strcmp(arithmetic_of(&bf16).name, "gemm_bf16") == 0, "bf16");
    EXPECT(arithmetic_of(&fp16_sums).fp16_sums && !arithmetic_of(&fp16).fp16_sums, "fp16");
    EXPECT(arithmetic_of(&addmm).takes_c && arithmetic_of(&addmm).output == NUMBER_FP32, "addmm");
    EXPECT(arithmetic_of(&unknown).name == NULL, "unknown");
    const arithmetic transposed = arithmetic_of(&(step){.computes = TRANSPOSE_FP32});
    EXPECT(arithmetic_moved_bytes(&transposed, 32768, 65536) == 17179869184.0, "bytes");
}

static void roundings(void) {
    const arithmetic arithmetic = arithmetic_of(&fp16_sums);
    EXPECT(arithmetic_rounding(&arithmetic, 4096, true).to_fp16 == 512, "fp16 sums");
    EXPECT(arithmetic_rounding(&arithmetic, 4, true).to_fp16 == 1, "less than one group");
    EXPECT(arithmetic_rounding(&arithmetic, 4096, false).to_fp16 == 0, "fp32 sums");
    EXPECT(arithmetic_rounding(&arithmetic, 4096, false).to_fp32 == 4096, "fp32 sums");
}

/* The largest sum of |a||b| that a row can have. */
static int64_t largest_sum(integers integers, int64_t k) {
    const int64_t used = (k + integers.spacing - 1) / integers.spacing;
    return used * integers.range * integers.range;
}

static void sums_stay_exact(void) {
    for (int64_t k = 8; k < 200000; k += k / 7 / 8 * 8 + 8) {
        EXPECT(largest_sum(integers_of(&bf16, k, 1, 1), k) <= 1 << 24, "bf16, k=%d", (int)k);
        EXPECT(largest_sum(integers_of(&fp16, k, 1, 1), k) <= 65504, "fp16, k=%d", (int)k);
        EXPECT(largest_sum(integers_of(&fp16_sums, k, 1, 1), k) <= 2048, "sums, k=%d", (int)k);
        EXPECT(integers_of(&bf16, k, 1, 1).range == random_integer_range(k, EXACT_INTEGER_LIMIT) &&
                   integers_of(&bf16, k, 1, 1).spacing == 1,
               "bf16 has the integers that it always had");
    }
    EXPECT(integers_of(&fp16_sums, 128, 1, 1).range == 4, "128");
    EXPECT(integers_of(&fp16_sums, 2048, 1, 1).spacing == 1, "2048");
    EXPECT(integers_of(&fp16_sums, 2056, 1, 1).spacing == 2, "2056");
    EXPECT(integers_of(&fp16_sums, 8192, 1, 1).spacing == 4, "8192");
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

int main(void) {
    run_case("arithmetic: what is computed", computations);
    run_case("arithmetic: what is rounded", roundings);
    run_case("arithmetic: sums of the exact check's integers", sums_stay_exact);
    run_case("arithmetic: alpha and beta in the exact check", scalars_stay_exact);
    run_case("arithmetic: alpha, beta and C, and what 0 leaves out", epilogue);
    return test_result();
}
