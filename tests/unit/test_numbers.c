/* bf16 and fp16 rounding, the random operands, the host reference and what counts as right. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check.h"
#include "../../emulator/tests/test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- formats */

/* The nearest number of a 16-bit format by searching all of them: the definition, slow. Ties go to
 * the even one. */
static uint16_t slow_rounding(enum number format, double value) {
    uint16_t best = 0;
    double best_distance = HUGE_VAL;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const uint16_t candidate = (uint16_t)bits;
        const float number = number_read(format, &candidate, 0);
        const double distance = fabs((double)number - value);
        if (number_is_finite(number) && (signbit(value) != 0) == (bits >> 15 != 0) &&
            (distance < best_distance || (distance == best_distance && bits % 2 == 0))) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

static uint16_t rounded(enum number format, float value) {
    uint16_t bits[2]; /* as wide as any format */
    number_write(format, bits, 0, value);
    return bits[0];
}

static void expect_rounding(enum number format, float value) {
    EXPECT(rounded(format, value) == slow_rounding(format, (double)value), "%a", (double)value);
}

static void formats(void) {
    static const float ties[2][9] = {
        {0x1.01p0f, 0x1.03p0f, -0x1.01p0f, 257, 259, 0x1.81p-133f},
        {2049, 2051, 0x1p-25f, 0x1.8p-24f, 0x1.ffep-15f, -0x3p-25f, 0x1.002p0f, 0x1.006p0f, 65519}};
    EXPECT(rounded(NUMBER_BF16, 0x1.fffffep127f) == 0x7f80, "it overflows to infinity");
    EXPECT(rounded(NUMBER_FP16, 65520) == 0x7c00 && rounded(NUMBER_FP16, 65504) == 0x7bff, "too");
    EXPECT(rounded(NUMBER_FP16, 0x1p-149f) == 0 && rounded(NUMBER_FP16, -0.0f) == 0x8000, "zeros");
    for (uint32_t i = 0; i <= 0x1ffff; ++i) { /* every number survives */
        const enum number format = i % 2 == 0 ? NUMBER_BF16 : NUMBER_FP16;
        const uint16_t number = (uint16_t)(i / 2);
        const float value = number_read(format, &number, 0);
        const uint16_t again = rounded(format, value);
        EXPECT(isnan(value) ? isnan(number_read(format, &again, 0)) : again == number,
               "%#x became %#x", number, again);
    }
    for (uint64_t i = 0; i < 400; ++i) {
        const uint32_t bits = (uint32_t)random_bits(7, 7, i);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value) && fabsf(value) < 0x1.fep127f) {
            expect_rounding(NUMBER_BF16, value);
        }
        /* Of every exponent that matters in fp16, and below. */
        expect_rounding(NUMBER_FP16,
                        ldexpf(random_uniform(random_bits(7, 8, i)), (int)(i % 44) - 27));
    }
    for (size_t i = 0; i < 18; ++i) {
        expect_rounding(i < 9 ? NUMBER_BF16 : NUMBER_FP16, ties[i / 9][i % 9]);
    }
    const uint32_t low_nan_bits = 0x7f800001; /* all of its payload is in the lost half */
    float low_nan;
    memcpy(&low_nan, &low_nan_bits, sizeof low_nan);
    EXPECT(isnan(bf16_to_float(bf16_from_float(low_nan))), "a NaN must not become infinite");
}

/* ---- random operands */

static void distributions(void) {
    enum { DRAWN = 200000 };
    static const struct {
        enum inputs inputs;
        int range;
        double variance, least, most; /* the largest magnitude is between these */
    } rows[] = {{INPUTS_NORMAL, 0, 1, 4, 7},         {INPUTS_UNIFORM, 0, 1.0 / 3, 0.99, 1},
                {INPUTS_INTEGERS, 1, 2.0 / 3, 1, 1}, {INPUTS_INTEGERS, 2, 2, 2, 2},
                {INPUTS_INTEGERS, 3, 4, 3, 3},       {INPUTS_INTEGERS, 4, 20.0 / 3, 4, 4}};
    for (size_t row = 0; row < COUNT_OF(rows); ++row) {
        const operand operand = {.inputs = rows[row].inputs,
                                 .seed = 1,
                                 .stream = RANDOM_STREAM_A,
                                 .row = DRAWN,
                                 .range = rows[row].range,
                                 .spacing = 1};
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
    EXPECT(random_uniform(0) == -1 && random_uniform(UINT64_MAX) < 1, "uniform");
    EXPECT(isfinite(random_normal(0)) && isfinite(random_normal(UINT64_MAX)), "normal");
    EXPECT(random_integer(0, 4) == -4 && random_integer(UINT64_MAX, 4) == 4, "integers");
}

static void random_is_reproducible(void) {
    const uint64_t bits = random_bits(1, 2, 3);
    EXPECT(bits == random_bits(1, 2, 3) && bits != random_bits(2, 2, 3) &&
               bits != random_bits(1, 1, 3) && bits != random_bits(1, 2, 4),
           "the same again; other with another seed, stream, index");
}

/* What integers promise, in rows that the spacing does not divide. */
static void sparse_rows(void) {
    enum { ROWS = 300, ROW = 50, SPACING = 4 };
    const operand operand = {.inputs = INPUTS_INTEGERS,
                             .seed = 1,
                             .stream = RANDOM_STREAM_A,
                             .row = ROW,
                             .range = 1,
                             .spacing = SPACING};
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
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* All different, all numbers that stay what they are if they are multiplied by 1, of both signs. */
static void fp32_bits(void) {
    enum { WORDS = 1 << 20 };
    static uint32_t words[WORDS];
    const operand operand = {
        .format = NUMBER_FP32, .inputs = INPUTS_BITS, .seed = 3, .stream = RANDOM_STREAM_A};
    size_t negative = 0;
    for (uint64_t i = 0; i < WORDS; ++i) {
        operand_write(&operand, words, i);
        EXPECT(isnormal(number_read(NUMBER_FP32, words, i)), "element %d", (int)i);
        negative += words[i] >> 31;
    }
    EXPECT(negative > WORDS / 2 - 4096 && negative < WORDS / 2 + 4096, "%zu negative", negative);
    const uint64_t far = UINT64_C(4261412863); /* the last before they come again */
    const uint32_t last = random_fp32_bits(3, RANDOM_STREAM_A, far);
    EXPECT(random_fp32_bits(3, RANDOM_STREAM_A, far + 1) == words[0], "they come again");
    EXPECT(random_fp32_bits(4, RANDOM_STREAM_A, 0) != words[0], "another seed");
    qsort(words, WORDS, sizeof *words, compare_words);
    for (size_t i = 1; i < WORDS; ++i) {
        EXPECT(words[i] != words[i - 1] && words[i] != last, "0x%08x twice", (unsigned)words[i]);
    }
}

static void int32_bits(void) {
    const operand operand = {
        .format = NUMBER_INT32, .inputs = INPUTS_BITS, .seed = 3, .stream = RANDOM_STREAM_A};
    static const int32_t edges[] = {INT32_MAX, -1, INT32_MIN, 0};
    int32_t words[300];
    for (uint64_t i = 0; i < 300; ++i) {
        operand_write(&operand, words, i);
        EXPECT(i % 61 != 0 || words[i] == edges[i / 61 % 4], "element %d", (int)i);
    }
    number_write(NUMBER_INT32, words, 7, -2.6f);
    EXPECT(words[7] == -3 && number_read(NUMBER_INT32, words, 7) == -3, "%d", (int)words[7]);
    EXPECT(number_bytes(NUMBER_INT32) == 4 && number_round(NUMBER_INT32, 2.4f) == 2, "int32");
}

/* ---- the reference, and what is right */

static void reference_by_hand(void) {
    /* A [2][3] times the transpose of B [2][3], and a third row of B. */
    static const float values[] = {1, 2, 3, -4, 5, 0.5f, 1, 0, -1, 2, 2, 2, 0, 3, 1};
    static const double expected[] = {-2, 12, 9, -4.5, 3, 15.5};
    static const double magnitudes[] = {4, 12, 9, 4.5, 19, 15.5};
    bf16_bits operands[COUNT_OF(values)];
    for (size_t i = 0; i < COUNT_OF(values); ++i) {
        operands[i] = bf16_from_float(values[i]);
    }
    const arithmetic arithmetic = arithmetic_of(&(step){.computes = GEMM_BF16});
    const problem problem = {.a = operands, .b = operands + 6, .m = 2, .n = 3, .k = 3};
    const reference made = reference_create(&arithmetic, 2, 3, 3);
    reference_compute(&made, &problem, NULL);
    for (size_t i = 0; i < COUNT_OF(expected); ++i) {
        EXPECT(made.elements[i].value == expected[i] &&
                   fabs((double)made.elements[i].magnitude / magnitudes[i] - 1) < 0x1p-22,
               "[%zu]: %g, magnitude %g", i, made.elements[i].value,
               (double)made.elements[i].magnitude);
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
    const double of_one_rounding = (1 + 0x1p-25) * exp(0x1p-11);
    const struct {
        enum computation computes;
        bool fp16_sums;
        int k;
        expected expected;
        double bound;
    } rows[] = {
        /* sum_error = 2^13 * 2^-23 * 2^10 = 1; bound = (|-255| + 1) / 256 + 1 = 2. */
        {GEMM_BF16, false, 8192, {-255, 1024, 0, 0}, 2},
        {GEMM_BF16, false, 8192, {0, 0, 0, 0}, 0}, /* around a sum of zeros */
        /* The same sum to fp16: (255 + 1) / 2048 + 2^-25 + 1. */
        {GEMM_FP16, false, 8192, {-255, 1024, 0, 0}, 1.125 + 0x1p-25},
        /* To fp32, with 3 more roundings for alpha, beta and C: 256 * 2^-23 + 1. */
        {ADDMM_FP16, false, 8189, {-255, 1024, 0, 0}, 1 + 0x1p-15},
        /* One rounding of a sum of 2048 to fp16: 1, and grown by the factor it may grow by. */
        {GEMM_FP16,
         true,
         1,
         {0, 0, 2048, 0},
         0x1p-11 * of_one_rounding + 0x1p-25 + of_one_rounding},
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
        {false, CHECK_BOUNDED, GEMM_BF16, -1, 1, 1},
        {false, CHECK_BOUNDED, GEMM_BF16, 0x1p-133f, 0, 0}, /* beside a sum of zeros */
        {false, CHECK_BOUNDED, GEMM_BF16, 0, NAN, 1},       /* this reference proves nothing */
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
    for (uint64_t i = 0; i < 20000; ++i) { /* correct rounding */
        const double value = 100 * (double)random_normal(random_bits(3, 1, i));
        const float output = number_round(NUMBER_BF16, (float)value);
        const comparison result =
            compare_of(CHECK_BOUNDED, GEMM_BF16, output, value, (float)fabs(value));
        EXPECT(result.right && result.error_over_bound >= 0 && result.error_over_bound <= 1,
               "%a: error over bound %g", value, result.error_over_bound);
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

/* A digest changes with each bit of 64 words, and if the first word and another swap. */
static void digests(void) {
    enum { WORDS = 64 };
    uint32_t words[WORDS];
    for (size_t i = 0; i < WORDS; ++i) {
        words[i] = (uint32_t)random_bits(3, 3, i);
    }
    const uint64_t digest = digest_of(TRANSPOSE_FP32, words, WORDS);
    const uint64_t of_halves = digest_of(GEMM_BF16, words, WORDS);
    for (size_t bit = 0; bit < 32 * WORDS; ++bit) {
        words[bit / 32] ^= UINT32_C(1) << bit % 32;
        EXPECT(digest_of(TRANSPOSE_FP32, words, WORDS) != digest, "bit %zu changed", bit);
        EXPECT((digest_of(GEMM_BF16, words, WORDS) != of_halves) == (bit < 16 * WORDS),
               "bit %zu of 16-bit numbers changed", bit);
        words[bit / 32] ^= UINT32_C(1) << bit % 32;
    }
    for (size_t i = 1; i < WORDS; ++i) {
        const uint32_t first = words[0];
        words[0] = words[i];
        words[i] = first;
        EXPECT(digest_of(TRANSPOSE_FP32, words, WORDS) != digest, "word %zu came first", i);
        words[i] = words[0];
        words[0] = first;
    }
    memset(words, 0, sizeof words);
    EXPECT(digest_of(GEMM_BF16, words, 1) != digest_of(GEMM_BF16, words, 2), "the count counts");
}

int main(void) {
    run_case("bf16, fp16: every value survives, and rounding matches its definition", formats);
    run_case("random: moments of the distributions, extreme bits", distributions);
    run_case("random: reproducible, streams differ", random_is_reproducible);
    run_case("random: integers with zeros between, and multiples", sparse_rows);
    run_case("random: bits of fp32, no two the same", fp32_bits);
    run_case("random: bits of int32", int32_bits);
    run_case("reference: a product worked out by hand", reference_by_hand);
    run_case("compare: the bound worked out by hand", bound_by_hand);
    run_case("compare: exact means bit for bit, and wrong results are outside the bound",
             comparisons);
    run_case("compare: NaN and infinities never pass", nothing_but_numbers_passes);
    run_case("compare: fp16 sums, and what they must not let pass", fp16_sums);
    run_case("digest: changes with every bit, and with two words that swap", digests);
    return test_result();
}
