/* Rounding to bf16, fp16 and e4m3, the random operands, the host reference and what counts as
 * right. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "../tools/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- formats */

/* A format's bits, by its definition; of e4m3 one number more instead of infinity. */
static const struct layout {
    enum number format;
    int exponent, fraction, first_nan;
} LAYOUTS[] = {
    {NUMBER_BF16, 8, 7, 0x7f81}, {NUMBER_FP16, 5, 10, 0x7c01}, {NUMBER_E4M3, 4, 3, 0x7f}};

/* What a magnitude's bits mean if all exponents are those of numbers, the largest one too. */
static double meaning(const struct layout *of, int bits) {
    const int exponent = bits >> of->fraction;
    const int fraction = bits - (exponent << of->fraction) + ((exponent > 0) << of->fraction);
    const int bias = (1 << of->exponent) / 2 - 1;
    return ldexp(fraction, (exponent > 0 ? exponent : 1) - bias - of->fraction);
}

static int rounded(enum number format, float value) {
    uint32_t bits = 0; /* as wide as any format */
    number_write(format, &bits, 0, value);
    return (int)bits;
}

/* Every number survives. Halfway between neighbours the even one is taken; a little to either side,
 * the nearer one. Infinity is where the next number would be. */
static void expect_number(const struct layout *of, int sign, int magnitude) {
    const int bits = sign | magnitude;
    const float value = number_read(of->format, &(uint32_t){(uint32_t)bits}, 0);
    const uint32_t again = (uint32_t)rounded(of->format, value);
    if (magnitude >= of->first_nan) {
        EXPECT(isnan(value) && isnan(number_read(of->format, &again, 0)), "%#x", bits);
        return;
    }
    const double below = meaning(of, magnitude), above = meaning(of, magnitude + 1);
    const float half = copysignf((float)((below + above) / 2), value);
    const float wanted = isinf(value) ? INFINITY : (float)below;
    EXPECT(value == (sign != 0 ? -wanted : wanted) && (int)again == bits, "%#x", bits);
    if (magnitude + 1 < of->first_nan) {
        EXPECT(rounded(of->format, half) == bits + bits % 2, "over %#x", bits);
        EXPECT(rounded(of->format, nextafterf(half, 0)) == bits, "over %#x", bits);
        EXPECT(rounded(of->format, nextafterf(half, 2 * half)) == bits + 1, "over %#x", bits);
    }
}

static void formats(void) {
    for (size_t i = 0; i < COUNT_OF(LAYOUTS); ++i) {
        const int sign = 1 << (LAYOUTS[i].exponent + LAYOUTS[i].fraction);
        for (int bits = 0; bits < 2 * sign; ++bits) {
            expect_number(&LAYOUTS[i], bits & sign, bits & (sign - 1));
        }
    }
    EXPECT(rounded(NUMBER_FP16, 0x1p-149f) == 0 && rounded(NUMBER_E4M3, 0x1p-149f) == 0, "tiny");
    EXPECT(rounded(NUMBER_E4M3, -INFINITY) == 0xfe && rounded(NUMBER_E4M3, 449) == 0x7e, "large");
    EXPECT(rounded(NUMBER_E4M3, NAN) == 0x7f, "the NaN of cvt");
    EXPECT(rounded(NUMBER_INT32, -2.6f) == -3 && number_round(NUMBER_INT32, 2.4f) == 2, "int32");
    /* All of this NaN's payload is in the lost half: it must not become infinite. */
    EXPECT(isnan(bf16_to_float(bf16_from_float(float_of_bits(0x7f800001)))), "a low NaN");
}

/* ---- random operands */

static void distributions(void) {
    enum { DRAWN = 200000 };
    static const struct {
        enum inputs inputs;
        int range;
        double variance, least, most; /* the largest magnitude is between these */
    } rows[] = {{INPUTS_NORMAL, 0, 1, 4, 7},
                {INPUTS_INTEGERS, 1, 2.0 / 3, 1, 1},
                {INPUTS_INTEGERS, 2, 2, 2, 2},
                {INPUTS_INTEGERS, 3, 4, 3, 3},
                {INPUTS_INTEGERS, 4, 20.0 / 3, 4, 4}};
    for (size_t row = 0; row < COUNT_OF(rows); ++row) {
        const operand operand = {
            "A",   NUMBER_FP32,     DRAWN, rows[row].inputs, RANDOM_STREAM_A, 1,
            DRAWN, rows[row].range, 1};
        double sum = 0, squares = 0, most = 0;
        for (uint64_t i = 0; i < DRAWN; ++i) {
            const double value = (double)random_element(&operand, i);
            sum += value;
            squares += value * value;
            most = fmax(most, fabs(value));
        }
        const double mean = sum / DRAWN;
        const double variance = squares / DRAWN - mean * mean;
        EXPECT(fabs(mean) < (rows[row].range > 0 ? 0.03 : 0.01) &&
                   fabs(variance / rows[row].variance - 1) < 0.02,
               "row %zu: %g, %g", row, mean, variance);
        EXPECT(most >= rows[row].least && most <= rows[row].most, "row %zu: up to %g", row, most);
    }
    EXPECT(isfinite(random_normal(0)) && isfinite(random_normal(UINT64_MAX)), "normal");
    EXPECT(random_integer(0, 4) == -4 && random_integer(UINT64_MAX, 4) == 4, "integers");
}

/* What integers promise, in rows that the spacing does not divide. */
static void sparse_rows(void) {
    enum { ROWS = 300, ROW = 50, SPACING = 4 };
    const operand operand = {"A", NUMBER_FP32, ROWS * ROW, INPUTS_INTEGERS, RANDOM_STREAM_A,
                             1,   ROW,         1,          SPACING};
    int used[ROW] = {0};
    for (uint64_t row = 0; row < ROWS; ++row) {
        int in_group = 0;
        for (uint64_t column = 0; column < ROW; ++column) {
            const bool is_set = random_element(&operand, row * ROW + column) != 0;
            in_group = is_set + (column % SPACING == 0 ? 0 : in_group);
            used[column] += is_set;
            EXPECT(in_group <= 1, "column %d is the second of its group", (int)column);
        }
    }
    for (int column = 0; column < ROW; ++column) {
        EXPECT(used[column] > ROWS / 12, "column %d is used %d times", column, used[column]);
    }
}

static int compare_words(const void *a, const void *b) {
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* All different, all numbers that stay what they are if they are multiplied by 1, of both signs. */
static void fp32_bits(void) {
    enum { WORDS = 1 << 20 };
    static const uint64_t far = UINT64_C(4261412863); /* the last before they come again */
    static uint32_t words[WORDS + 1];
    size_t negative = 0;
    for (uint64_t i = 0; i <= WORDS; ++i) {
        words[i] = random_fp32_bits(3, RANDOM_STREAM_A, i < WORDS ? i : far);
        EXPECT(isnormal(float_of_bits(words[i])), "element %d", (int)i);
        negative += words[i] >> 31;
    }
    EXPECT(negative > WORDS / 2 - 4096 && negative < WORDS / 2 + 4096, "%zu negative", negative);
    EXPECT(random_fp32_bits(3, RANDOM_STREAM_A, far + 1) == words[0], "they come again");
    EXPECT(random_fp32_bits(4, RANDOM_STREAM_A, 0) != words[0], "another seed");
    qsort(words, WORDS + 1, sizeof *words, compare_words);
    for (size_t i = 1; i <= WORDS; ++i) {
        EXPECT(words[i] != words[i - 1], "0x%08x twice", (unsigned)words[i]);
    }
}

/* ---- the reference, and what is right */

/* alpha * A * B^T + beta * C; what is multiplied by 0 is not read. */
static void reference_by_hand(void) {
    /* A [2][3] times the transpose of B [2][3], and a third row of B. */
    static const float values[] = {1, 2, 3, -4, 5, 0.5f, 1, 0, -1, 2, 2, 2, 0, 3, 1};
    static const double sums[] = {-2, 12, 9, -4.5, 3, 15.5};
    static const double magnitudes[] = {4, 12, 9, 4.5, 19, 15.5};
    static const float c[][6] = {{1, -2, 0, 3, 4, 5}, {NAN, NAN, NAN, NAN, NAN, NAN}};
    static const float scalars[][2] = {{-2, 0.5f}, {-2, 0}, {0, 0.5f}, {1, 1}};
    const arithmetic arithmetic = arithmetic_of(&(step){.computes = ADDMM_FP16});
    const reference made = reference_create(&arithmetic, 2, 3, 3);
    fp16_bits operands[COUNT_OF(values)];
    for (size_t i = 0; i < COUNT_OF(scalars); ++i) {
        const float alpha = scalars[i][0], beta = scalars[i][1];
        for (size_t j = 0; j < COUNT_OF(values); ++j) {
            operands[j] = fp16_from_float(alpha == 0 ? NAN : values[j]);
        }
        const problem problem = {operands,     operands + 6, c[beta == 0], .alpha = alpha,
                                 .beta = beta, .m = 2,       .n = 3,       .k = 3};
        reference_compute(&made, &problem, NULL);
        for (size_t j = 0; j < COUNT_OF(sums); ++j) {
            const double of_c = beta == 0 ? 0 : (double)(beta * c[0][j]);
            const double value = (double)alpha * sums[j] + of_c;
            const double magnitude = fabs((double)alpha) * magnitudes[j] + fabs(of_c);
            const expected *found = &made.elements[j];
            EXPECT(found->value == value && (double)found->magnitude >= magnitude &&
                       (double)found->magnitude <= magnitude * (1 + 0x1p-22) + 0x1p-126,
                   "[%zu]: %g, magnitude %g", j, found->value, (double)found->magnitude);
        }
    }
    reference_destroy(&made);
}

/* An examination of elements of that computation, with sums of k products. */
static examination examination_of(enum computation computes, bool fp16_sums, int k,
                                  enum check_kind kind) {
    const step step = {.computes = computes, .fp16_sums = fp16_sums};
    return (examination){
        .reference = {.arithmetic = arithmetic_of(&step), .k = k}, .kind = kind, .own = true};
}

static void bound_by_hand(void) {
    const double one = (1 + 0x1p-25) * exp(0x1p-11); /* rounding, grown by what it may grow by */
    const double rounded_once = 0x1p-11 * one + 0x1p-25 + one;
    const struct {
        enum computation computes;
        bool fp16_sums;
        int k;
        expected expected;
        double bound;
    } rows[] = {/* sum_error = 2^13 * 2^-23 * 2^10 = 1; bound = (|-255| + 1) / 256 + 1 = 2. */
                {GEMM_BF16, false, 8192, {-255, 1024, 0, 0}, 2},
                {GEMM_BF16, false, 8192, {0, 0, 0, 0}, 0}, /* around a sum of zeros */
                /* The same sum to fp16: (255 + 1) / 2048 + 2^-25 + 1. */
                {GEMM_FP16, false, 8192, {-255, 1024, 0, 0}, 1.125 + 0x1p-25},
                /* To fp32, with 3 more roundings for alpha, beta and C: 256 * 2^-23 + 1. */
                {ADDMM_FP16, false, 8189, {-255, 1024, 0, 0}, 1 + 0x1p-15},
                {GEMM_FP16, true, 1, {0, 0, 2048, 0}, rounded_once},
                {GEMM_FP8, false, 6 * E4M3_K, {-255, 0, 1, 0}, 2}}; /* what tensor cores cut off */
    for (size_t i = 0; i < COUNT_OF(rows); ++i) {
        const examination e =
            examination_of(rows[i].computes, rows[i].fp16_sums, rows[i].k, CHECK_BOUNDED);
        const double bound = error_bound(&e, &rows[i].expected);
        EXPECT(bound == rows[i].bound, "row %zu: %a", i, bound);
    }
}

static comparison compare_of(enum check_kind kind, enum computation computes, float output,
                             double reference, float magnitude) {
    const examination e = examination_of(computes, false, 8, kind);
    const expected expected = {reference, magnitude, 0, 0};
    return compare(&e, output, &expected);
}

/* What passes, and what does not. */
static void comparisons(void) {
    static const struct {
        bool right;
        enum check_kind kind;
        enum computation computes;
        float output;
        double reference;
        float magnitude;
    } rows[] = {
        {true, CHECK_BOUNDED, GEMM_BF16, 1, 1, 1},
        {true, CHECK_BOUNDED, GEMM_BF16, -0.0f, 0, 0},
        {false, CHECK_BOUNDED, GEMM_BF16, 1 + 0x1p-7f, 1, 1}, /* one bf16 too high */
        {false, CHECK_BOUNDED, GEMM_BF16, 1 - 0x1p-7f, 1, 1}, /* two too low */
        {false, CHECK_BOUNDED, GEMM_BF16, 0x1p-133f, 0, 0},   /* beside a sum of zeros */
        {false, CHECK_BOUNDED, GEMM_BF16, 0, NAN, 1},         /* this reference proves nothing */
        {true, CHECK_EXACT, GEMM_BF16, 12, 12, 0},
        {false, CHECK_EXACT, GEMM_BF16, 13, 12, 0},
        {false, CHECK_EXACT, GEMM_BF16, -12, 12, 0},
        {true, CHECK_EXACT, GEMM_BF16, -0.0f, 0, 0},
        {true, CHECK_EXACT, GEMM_BF16, 256, 257, 0},  /* ties: to even, down ... */
        {true, CHECK_EXACT, GEMM_BF16, 260, 259, 0},  /* ... and up, ... */
        {false, CHECK_EXACT, GEMM_BF16, 258, 259, 0}, /* ... not truncated */
        {true, CHECK_EXACT, GEMM_FP16, 2048, 2049, 0},
        {false, CHECK_EXACT, GEMM_FP16, 2050, 2049, 0},
        {true, CHECK_EXACT, ADDMM_FP16, 16777215, 16777215, 0},
        {false, CHECK_EXACT, ADDMM_FP16, 16777214, 16777215, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); ++i) {
        const comparison found = compare_of(rows[i].kind, rows[i].computes, rows[i].output,
                                            rows[i].reference, rows[i].magnitude);
        EXPECT(found.right == rows[i].right && (found.error_over_bound > 1) != rows[i].right,
               "row %zu: %g of the bound", i, found.error_over_bound);
    }
}

static void nothing_but_numbers_passes(void) {
    static const float magnitudes[] = {1, 0x1p127f, INFINITY, NAN};
    static const double references[] = {0, 1e300, INFINITY, -INFINITY, NAN};
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 2 * 4 * 5 * 4; ++i) {
        const enum check_kind kind = i % 2 == 0 ? CHECK_EXACT : CHECK_BOUNDED;
        const comparison result =
            compare_of(kind, GEMM_BF16, bad[i / 2 % 4], references[i / 8 % 5], magnitudes[i / 40]);
        EXPECT(!result.right && result.error_over_bound == HUGE_VAL, "combination %d", i);
    }
}

/* A sum of normal products as tensor cores with fp16 sums make it: after each group it is rounded.
 * The bound takes it, and neither 0 nor the sum without its last quarter. */
static void fp16_sums(void) {
    enum { K = 8192, SUMS = 200 };
    const examination e = examination_of(GEMM_FP16, true, K, CHECK_BOUNDED);
    int zeros = 0;
    int cut = 0;
    for (uint64_t i = 0; i < SUMS; ++i) {
        expected expected = {0, 0, 0, 0};
        float sum = 0;
        float short_sum = 0;
        for (uint64_t j = 0; j < K; ++j) {
            const uint64_t l = i * K + j;
            const float a = number_round(NUMBER_FP16, random_normal(random_bits(1, 1, l)));
            const float b = number_round(NUMBER_FP16, random_normal(random_bits(1, 2, l)));
            sum += a * b;
            expected.value += (double)a * (double)b;
            expected.magnitude += fabsf(a * b);
            if ((j + 1) % FP16_SUM_GROUP == 0) {
                sum = number_round(NUMBER_FP16, sum);
                expected.partials += fabsf((float)expected.value);
                short_sum = j < K / 4 * 3 ? sum : short_sum;
            }
        }
        const comparison right = compare(&e, sum, &expected);
        EXPECT(right.right && right.error_over_bound < 0.5, "%g of the bound",
               right.error_over_bound);
        zeros += !compare(&e, 0, &expected).right;
        cut += !compare(&e, short_sum, &expected).right;
    }
    EXPECT(zeros > SUMS / 4 && cut > SUMS / 50, "0 is refused %d times, a part %d times", zeros,
           cut);
}

/* Of the words that are compared with themselves. */
static uint64_t digest_of(enum computation computes, uint32_t *words, size_t count) {
    const examination e = {.d = words,
                           .reference = {.arithmetic = arithmetic_of(&(step){.computes = computes}),
                                         .count = count,
                                         .words = words},
                           .kind = CHECK_WORDS};
    return check_elements(&e, NULL).digest;
}

/* A digest changes with each bit of 64 words, and if two of them swap. */
static void digests(void) {
    enum { WORDS = 64 };
    uint32_t words[WORDS];
    for (size_t i = 0; i < WORDS; ++i) {
        words[i] = (uint32_t)random_bits(3, 3, i);
    }
    const uint32_t first = words[0];
    const uint64_t digest = digest_of(TRANSPOSE_FP32, words, WORDS);
    const uint64_t of_halves = digest_of(GEMM_BF16, words, WORDS);
    for (size_t bit = 0; bit < 32 * WORDS; ++bit) {
        uint32_t *word = &words[bit / 32];
        *word ^= UINT32_C(1) << bit % 32;
        EXPECT(digest_of(TRANSPOSE_FP32, words, WORDS) != digest, "bit %zu changed", bit);
        EXPECT((digest_of(GEMM_BF16, words, WORDS) != of_halves) == (bit < 16 * WORDS),
               "bit %zu of 16-bit numbers changed", bit);
        *word ^= UINT32_C(1) << bit % 32;
    }
    words[0] = words[1];
    words[1] = first;
    EXPECT(digest_of(TRANSPOSE_FP32, words, WORDS) != digest, "two swapped");
    memset(words, 0, sizeof words);
    EXPECT(digest_of(GEMM_BF16, words, 1) != digest_of(GEMM_BF16, words, 2), "the count counts");
}

int main(void) {
    run_case("bf16, fp16, e4m3: every number survives, and rounding is to the nearest", formats);
    run_case("random: moments of the distributions, extreme bits", distributions);
    run_case("random: integers with zeros between, and multiples", sparse_rows);
    run_case("random: bits of fp32, no two the same", fp32_bits);
    run_case("reference: a product worked out by hand", reference_by_hand);
    run_case("compare: the bound worked out by hand", bound_by_hand);
    run_case("compare: exact means bit for bit, and wrong results are outside the bound",
             comparisons);
    run_case("compare: NaN and infinities never pass", nothing_but_numbers_passes);
    run_case("compare: fp16 sums, and what they must not let pass", fp16_sums);
    run_case("digest: changes with every bit, and with two words that swap", digests);
    return test_result();
}
