/* bf16 rounding, the random operands, the host reference and what counts as right. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/compare.h"
#include "harness/random.h"
#include "harness/reference_host.h"
#include "test.h"

/* The nearest bf16 by searching all of them: the definition, slow. Ties go to the even one. */
static bf16_bits slow_rounding(double value) {
    bf16_bits best = 0;
    double best_distance = HUGE_VAL;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const bf16_bits candidate = (bf16_bits)bits;
        if (!bf16_is_finite(candidate) || (signbit(value) != 0) != (bits >> 15 != 0)) {
            continue;
        }
        const double distance = fabs((double)bf16_to_float(candidate) - value);
        if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

static void every_bf16_survives(void) {
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const float value = bf16_to_float((bf16_bits)bits);
        if (!isnan(value)) {
            EXPECT(bf16_from_float(value) == bits, "%#x became %#x", bits, bf16_from_float(value));
        }
    }
}

static void rounding_matches_the_definition(void) {
    for (uint64_t i = 0; i < 300; ++i) {
        const uint32_t bits = (uint32_t)random_bits(7, 7, i);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value) && fabsf(value) < 0x1.fep127f) {
            EXPECT(bf16_from_float(value) == slow_rounding((double)value), "%a", (double)value);
        }
    }
    const float ties[] = {0x1.01p0f, 0x1.03p0f, -0x1.01p0f, 257, 259, 0x1.81p-133f};
    for (size_t i = 0; i < sizeof ties / sizeof *ties; ++i) {
        EXPECT(bf16_from_float(ties[i]) == slow_rounding((double)ties[i]), "%a", (double)ties[i]);
    }
}

static void special_values(void) {
    EXPECT(bf16_from_float(INFINITY) == 0x7f80 && bf16_from_float(-INFINITY) == 0xff80, "inf");
    EXPECT(bf16_from_float(0x1.fffffep127f) == 0x7f80, "the largest float overflows");
    EXPECT(isnan(bf16_to_float(bf16_from_float(NAN))), "NaN");
    const uint32_t low_nan_bits = 0x7f800001; /* all of its payload is in the lost half */
    float low_nan;
    memcpy(&low_nan, &low_nan_bits, sizeof low_nan);
    EXPECT(isnan(bf16_to_float(bf16_from_float(low_nan))), "a NaN must not become infinite");
    EXPECT(!bf16_is_finite(0xffff) && !bf16_is_finite(0x7f80) && bf16_is_finite(0x7f7f), "finite");
}

/* Mean and variance of a distribution, and its largest magnitude. */
static void moments(enum inputs inputs, int range, double *mean, double *variance, double *most) {
    enum { COUNT = 200000 };
    double sum = 0;
    double squares = 0;
    *most = 0;
    for (uint64_t i = 0; i < COUNT; ++i) {
        const double value = (double)random_operand(inputs, range, 1, RANDOM_STREAM_A, i);
        sum += value;
        squares += value * value;
        *most = fmax(*most, fabs(value));
    }
    *mean = sum / COUNT;
    *variance = squares / COUNT - *mean * *mean;
}

static void distributions(void) {
    double mean;
    double variance;
    double most;
    moments(INPUTS_NORMAL, 0, &mean, &variance, &most);
    EXPECT(fabs(mean) < 0.01 && fabs(variance - 1) < 0.02, "normal: %g, %g", mean, variance);
    EXPECT(most > 4 && most < 7, "normal: up to %g", most);
    moments(INPUTS_UNIFORM, 0, &mean, &variance, &most);
    EXPECT(fabs(mean) < 0.01 && fabs(variance - 1.0 / 3) < 0.01, "uniform: %g, %g", mean, variance);
    EXPECT(most <= 1, "uniform: up to %g", most);
    for (int range = 1; range <= LARGEST_INTEGER_RANGE; ++range) {
        moments(INPUTS_INTEGERS, range, &mean, &variance, &most);
        const double expected = range * (range + 1) / 3.0;
        EXPECT(fabs(mean) < 0.03 && fabs(variance - expected) < 0.02 * expected, "%d: %g, %g",
               range, mean, variance);
        EXPECT(most == range, "integers: up to %g", most);
    }
}

static void random_is_reproducible(void) {
    EXPECT(random_bits(1, 2, 3) == random_bits(1, 2, 3), "the same");
    EXPECT(random_bits(1, 2, 3) != random_bits(2, 2, 3), "seed");
    EXPECT(random_bits(1, 1, 3) != random_bits(1, 2, 3), "stream");
    EXPECT(random_bits(1, 2, 3) != random_bits(1, 2, 4), "index");
    int equal = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        equal += random_integer(random_bits(1, RANDOM_STREAM_A, i), 4) ==
                 random_integer(random_bits(1, RANDOM_STREAM_B, i), 4);
    }
    EXPECT(equal > 60 && equal < 170, "A and B agree in %d of 1000 places; 111 are expected",
           equal);
}

static void extreme_bits(void) {
    EXPECT(random_uniform(0) == -1 && random_uniform(UINT64_MAX) < 1, "uniform");
    EXPECT(isfinite(random_normal(0)) && isfinite(random_normal(UINT64_MAX)), "normal");
    EXPECT(random_integer(0, 4) == -4 && random_integer(UINT64_MAX, 4) == 4, "integers");
}

static void reference_by_hand(void) {
    /* A [2][3] times the transpose of B [2][3], and a third row of B. */
    const float a_values[] = {1, 2, 3, -4, 5, 0.5f};
    const float b_values[] = {1, 0, -1, 2, 2, 2, 0, 3, 1};
    bf16_bits a[6];
    bf16_bits b[9];
    for (size_t i = 0; i < 6; ++i) {
        a[i] = bf16_from_float(a_values[i]);
    }
    for (size_t i = 0; i < 9; ++i) {
        b[i] = bf16_from_float(b_values[i]);
    }
    const double expected[] = {-2, 12, 9, -4.5, 3, 15.5};
    const double expected_magnitudes[] = {4, 12, 9, 4.5, 19, 15.5};
    double values[6];
    double magnitudes[6];
    reference_host(a, b, 2, 3, 3, values, magnitudes);
    for (size_t i = 0; i < 6; ++i) {
        EXPECT(values[i] == expected[i], "[%zu]: %g", i, values[i]);
        EXPECT(magnitudes[i] == expected_magnitudes[i], "magnitude [%zu]: %g", i, magnitudes[i]);
    }
}

static void bound_by_hand(void) {
    /* sum_error = 2^13 * 2^-23 * 2^10 = 1; bound = (|-255| + 1) / 256 + 1 = 2. */
    EXPECT(error_bound(-255, 1024, 8192) == 2, "%g", error_bound(-255, 1024, 8192));
    EXPECT(error_bound(0, 0, 8) == 0, "nothing is allowed around a sum of zeros");
}

static void bounded_takes_correct_rounding(void) {
    for (uint64_t i = 0; i < 20000; ++i) {
        const double value = 100 * (double)random_normal(random_bits(3, 1, i));
        const comparison result =
            compare_bounded(bf16_from_float((float)value), value, (float)fabs(value), 8);
        EXPECT(result.right, "%a: error over bound %g", value, result.error_over_bound);
        EXPECT(result.error_over_bound >= 0 && result.error_over_bound <= 1, "%g",
               result.error_over_bound);
    }
    EXPECT(compare_bounded(0, 0, 0, 8).right && compare_bounded(0x8000, 0, 0, 8).right, "zeros");
}

static void bounded_refuses_wrong_results(void) {
    const bf16_bits one = bf16_from_float(1);
    EXPECT(compare_bounded(one, 1, 1, 8).right, "1 is 1");
    EXPECT(!compare_bounded((bf16_bits)(one + 1), 1, 1, 8).right, "one bf16 too high");
    EXPECT(!compare_bounded((bf16_bits)(one - 2), 1, 1, 8).right, "too low");
    EXPECT(!compare_bounded((bf16_bits)(one | 0x8000), 1, 1, 8).right, "wrong sign");
    EXPECT(compare_bounded((bf16_bits)(one + 1), 1, 1, 8).error_over_bound > 1, "ratio");
    EXPECT(!compare_bounded(1, 0, 0, 8).right, "not even a little beside a sum of zeros");
    EXPECT(compare_bounded(1, 0, 0, 8).error_over_bound == HUGE_VAL, "ratio");
}

static void nothing_but_numbers_passes(void) {
    const bf16_bits bad[] = {0x7fc0, 0xffff, 0x7f81, 0x7f80, 0xff80};
    const float magnitudes[] = {1, 0x1p127f, INFINITY, NAN};
    const double references[] = {0, 1e300, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        for (size_t j = 0; j < 5; ++j) {
            for (size_t l = 0; l < 4; ++l) {
                const comparison result =
                    compare_bounded(bad[i], references[j], magnitudes[l], 8192);
                EXPECT(!result.right && result.error_over_bound == HUGE_VAL, "%#x, %g", bad[i],
                       references[j]);
            }
        }
        EXPECT(!compare_exact(bad[i], 0).right, "%#x", bad[i]);
    }
    EXPECT(!compare_bounded(0, NAN, 1, 8).right, "a reference that is NaN proves nothing");
}

static void exact_means_exact(void) {
    EXPECT(compare_exact(bf16_from_float(12), 12).right, "12");
    EXPECT(!compare_exact(bf16_from_float(13), 12).right, "13");
    EXPECT(compare_exact(bf16_from_float(256), 257).right, "257 is a tie: to even, down");
    EXPECT(compare_exact(bf16_from_float(260), 259).right, "259 is a tie: to even, up");
    EXPECT(!compare_exact(bf16_from_float(258), 259).right, "259, truncated");
    EXPECT(compare_exact(0, 0).right && compare_exact(0x8000, 0).right, "zeros of either sign");
    EXPECT(!compare_exact(bf16_from_float(-12), 12).right, "sign");
}

int main(void) {
    run_case("bf16: every value survives", every_bf16_survives);
    run_case("bf16: rounding matches its definition", rounding_matches_the_definition);
    run_case("bf16: special values", special_values);
    run_case("random: moments of the distributions", distributions);
    run_case("random: reproducible, streams differ", random_is_reproducible);
    run_case("random: extreme bits", extreme_bits);
    run_case("reference: a product worked out by hand", reference_by_hand);
    run_case("compare: the bound worked out by hand", bound_by_hand);
    run_case("compare: correct rounding is within the bound", bounded_takes_correct_rounding);
    run_case("compare: wrong results are outside", bounded_refuses_wrong_results);
    run_case("compare: NaN and infinities never pass", nothing_but_numbers_passes);
    run_case("compare: exact means bit for bit", exact_means_exact);
    return test_result();
}
