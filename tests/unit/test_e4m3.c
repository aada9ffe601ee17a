/* e4m3, its sums on the tensor cores as e4m3.h has them, worked out by hand; what the harness makes
 * of them; and vectors that a GPU gave. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/e4m3_integers.h"
#include "harness/check.h"
#include "../../emulator/tests/test.h"

/* ---- numbers */

static void every_number(void) {
    for (int bits = 0; bits < 256; ++bits) {
        const int exponent = bits >> 3 & 15;
        const double magnitude =
            exponent == 0 ? ldexp(bits & 7, -9) : ldexp(8 + (bits & 7), exponent - 10);
        const double expected = bits & 0x80 ? -magnitude : magnitude;
        const float value = e4m3_to_float((uint8_t)bits);
        EXPECT((bits & 0x7f) == 0x7f ? isnan(value) : (double)value == expected, "%#x is %g", bits,
               (double)value);
        EXPECT(isnan(value) ? e4m3_from_float(value) == 0x7f : e4m3_from_float(value) == bits,
               "%#x became %#x", bits, e4m3_from_float(value));
        EXPECT((bits & 0x7f) == 0x7f || (bits & 0x7f) == 0 ||
                   e4m3_exponent((uint8_t)bits) == (exponent == 0 ? -6 : exponent - 7),
               "%#x: %d", bits, e4m3_exponent((uint8_t)bits));
    }
}

static void rounding_to_e4m3(void) {
    static const float rows[][2] = {
        {1.0625f, 1},  {1.0626f, 1.125f},    {1.1875f, 1.25f},     {-1.0625f, -1},
        {15.5f, 16},   {449, 448},           {465, 448},           {-INFINITY, -448},
        {0x1p-10f, 0}, {0x1.8p-9f, 0x1p-8f}, {0x1.fp-7f, 0x1p-6f}, {0x1.000002p-10f, 0x1p-9f},
        {0x1p-149f, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const float got = number_round(NUMBER_E4M3, rows[i][0]);
        EXPECT(got == rows[i][1], "%g became %g", (double)rows[i][0], (double)got);
    }
    EXPECT(signbit(number_round(NUMBER_E4M3, -0.0f)) && isnan(number_round(NUMBER_E4M3, NAN)),
           "-0 and NaN");
}

/* ---- sums */

/* Products that are not 0: a * b each. */
typedef struct row {
    const char *name;
    float a[3], b[3];
    float addend, sum;
} row;

static const row ROWS[] = {
    {"13 bits below the largest term are kept", {1}, {1}, 0x1p-13f, 1 + 0x1p-13f},
    {"the 14th is not", {1}, {1}, 0x1p-14f, 1},
    {"cut off towards zero", {-1}, {1}, -0x1.8p-13f, -1 - 0x1p-13f},
    {"and so is a term of the other sign", {1}, {1}, -0x1.8p-13f, 1 - 0x1p-13f},
    {"each term alone, before they are added", {1, 0x1p-7f, 0x1p-7f}, {1, 0x1p-7f, 0x1p-7f}, 0, 1},
    {"an addend cuts products off too", {1}, {1}, 0x1p14f, 0x1p14f},
    {"a sum that has grown is cut off again", {448}, {448}, 8, 200704},
    {"a sum that has shrunk keeps what there is", {1, 1}, {1, -1}, 0x1p-13f, 0x1p-13f},
    {"but no more", {1, 1}, {1, -1}, 0x1p-14f, 0},
    {"the exponent of a product is the sum of both",
     {1.75f, 1.75f},
     {1.75f, -1.75f},
     0x1p-13f,
     0x1p-13f},
    {"that of a subnormal number is -6", {0x1p-9f}, {1}, 0x1p-20f, 0x1p-9f},
    {"where a normal product as large keeps more",
     {0x1p-4f},
     {0x1p-5f},
     0x1p-20f,
     0x1p-9f + 0x1p-20f},
    {"a zero counts for nothing", {0}, {448}, 0x1p-40f, 0x1p-40f},
    {"-0 becomes 0", {-0.0f}, {1}, -0.0f, 0},
    {"an fp32 addend is cut off", {0}, {0}, 1 + 0x1.8p-13f, 1 + 0x1p-13f},
    {"an infinite addend stays", {448}, {-448}, INFINITY, INFINITY},
    {"a NaN in A", {NAN}, {0}, 1, NAN},
    {"a NaN in B, beside an infinite addend", {0}, {NAN}, INFINITY, NAN},
    {"a NaN as addend", {1}, {1}, NAN, NAN},
};
static const row *now;

static float multiply_add(const float *a, const float *b, int count, float addend) {
    uint8_t bits[2][E4M3_K] = {{0}, {0}};
    e4m3_group groups[2];
    for (int i = 0; i < count; ++i) {
        /* Not side by side, and each in another place. */
        bits[0][E4M3_K - 1 - 11 * i % E4M3_K] = e4m3_from_float(a[i]);
        bits[1][E4M3_K - 1 - 11 * i % E4M3_K] = e4m3_from_float(b[i]);
    }
    e4m3_read(&groups[0], bits[0]);
    e4m3_read(&groups[1], bits[1]);
    return e4m3_multiply_add(&groups[0], &groups[1], addend);
}

static uint32_t word(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void one_sum(void) {
    const float got = multiply_add(now->a, now->b, 3, now->addend);
    EXPECT(isnan(now->sum) ? word(got) == 0x7fffffff : word(got) == word(now->sum), "%a",
           (double)got);
}

/* Any order of whole numbers whose sum of magnitudes is within the limit; one more than it is lost.
 */
static void whole_numbers(void) {
    enum { K = E4M3_INTEGERS / 16 };
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        float sum = 0;
        int expected = 0;
        for (uint64_t i = 0; i < K; i += E4M3_K) {
            float a[E4M3_K];
            float b[E4M3_K];
            for (uint64_t j = 0; j < E4M3_K; ++j) {
                /* The worst: all of one sign. */
                a[j] = seed == 1 ? 4 : (float)random_integer(random_bits(seed, 1, i + j), 4);
                b[j] = seed == 1 ? 4 : (float)random_integer(random_bits(seed, 2, i + j), 4);
                expected += (int)(a[j] * b[j]);
            }
            sum = multiply_add(a, b, E4M3_K, sum);
        }
        EXPECT(sum == (float)expected, "seed %d: %g, not %d", (int)seed, (double)sum, expected);
    }
    const float one = 1;
    EXPECT(multiply_add(&one, &one, 1, E4M3_INTEGERS) == E4M3_INTEGERS, "one more");
}

/* ---- the harness */

static const step PLAIN = {.name = "f01", .computes = GEMM_FP8};
static const step PROMOTED = {.name = "f02", .computes = GEMM_FP8, .promotion = 128};
static const step BLOCKS = {
    .name = "f03", .computes = GEMM_FP8, .promotion = 128, .block_scales = true};
static const step *const STEPS[] = {&PLAIN, &PROMOTED, &BLOCKS};

/* Operands with room for the longest sums, and scales for each block: 3 rows of A, 131 of B, of
 * which the last ones have other scales; or one row of A and SUMS of B, of up to MOST_K. */
enum { M = 3, N = 131, K = 1040, K_BLOCKS = 9, COLUMNS = 12, N_BLOCKS = 2 };
enum { MOST_K = 16384, SUMS = 48 };

static struct operands {
    _Alignas(16) uint8_t a[MOST_K];
    _Alignas(16) uint8_t b[SUMS * MOST_K];
    float scale_a[MOST_K / SCALE_BLOCK], scale_b[MOST_K / SCALE_BLOCK];
} made;

static problem make_operands(int m, int n, int k, enum inputs inputs, uint64_t seed) {
    const enum inputs of_scales = inputs == INPUTS_INTEGERS ? INPUTS_POWERS : INPUTS_SCALES;
    const size_t blocks = MOST_K / SCALE_BLOCK;
    const operand all[] = {{"A", NUMBER_E4M3, (size_t)(m * k), inputs, 0, seed, (uint64_t)k, 2, 1},
                           {"B", NUMBER_E4M3, (size_t)(n * k), inputs, 1, seed, (uint64_t)k, 2, 1},
                           {"of A", NUMBER_FP32, blocks, of_scales, 2, seed, 0, 0, 0},
                           {"of B", NUMBER_FP32, blocks, of_scales, 3, seed, 0, 0, 0}};
    operand_fill(&all[0], made.a, NULL);
    operand_fill(&all[1], made.b, NULL);
    operand_fill(&all[2], made.scale_a, NULL);
    operand_fill(&all[3], made.scale_b, NULL);
    return (problem){.a = made.a,
                     .b = made.b,
                     .scale_a = made.scale_a,
                     .scale_b = made.scale_b,
                     .m = m,
                     .n = n,
                     .k = k};
}

static void scales(void) {
    const problem problem = make_operands(M, N, K, INPUTS_NORMAL, 1);
    const arithmetic one = arithmetic_of(&PLAIN);
    const arithmetic blocks = arithmetic_of(&BLOCKS);
    EXPECT(scale_of(&one, &problem, false, 2, 700) == made.scale_a[0], "one of A");
    EXPECT(scale_of(&one, &problem, true, 130, 700) == made.scale_b[0], "one of B");
    EXPECT(scale_of(&blocks, &problem, false, 2, 700) == made.scale_a[5 * M + 2], "a block of A");
    EXPECT(scale_of(&blocks, &problem, true, 130, 700) == made.scale_b[COLUMNS + 5], "of B");
    EXPECT(scale_count(&blocks, false, M, K) == K_BLOCKS * M, "blocks of A");
    EXPECT(scale_count(&blocks, true, N, K) == N_BLOCKS * COLUMNS, "blocks of B");
    EXPECT(scale_count(&one, false, M, K) == 1 && scale_count(&one, true, N, K) == 1, "1");
    unsigned powers = 0;
    int rounded = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        const float scale = random_element(&(operand){.inputs = INPUTS_SCALES, .seed = i}, i);
        EXPECT(scale >= 0x1p-20f && scale < 0x1p4f, "%a", (double)scale);
        powers |= 1U << (ilogbf(scale) + 20);
        rounded += number_round(NUMBER_BF16, scale) == scale;
    }
    EXPECT(powers == (1U << 24) - 1 && rounded < 50, "powers of two %#x, %d of few digits", powers,
           rounded);
}

/* The reference of every element, on the emulator, whose memory is the host's; and what it makes of
 * outputs: the step's own, or another's. */
static examination examine(const step *step, const problem *problem, bool own) {
    const arithmetic arithmetic = arithmetic_of(step);
    const examination e = {.reference =
                               reference_create(&arithmetic, problem->m, problem->n, problem->k),
                           .kind = CHECK_BOUNDED,
                           .own = own};
    reference_compute(&e.reference, problem, NULL);
    return e;
}

/* Of normal inputs the model is within the bound, a last bit changed is noticed though the bound
 * has room for it, and others may differ from the model. In the exact check nothing is lost, with
 * powers of two as scales. */
static void modelled(void) {
    for (size_t s = 0; s < 2 * sizeof STEPS / sizeof *STEPS; ++s) {
        const step *step = STEPS[s / 2];
        const bool exact = s % 2 == 1;
        const problem problem = make_operands(M, N, K, exact ? INPUTS_INTEGERS : INPUTS_NORMAL, 1);
        const examination own = examine(step, &problem, true);
        examination other = own;
        int lost = 0;
        other.own = false;
        for (size_t i = 0; i < own.reference.count; ++i) {
            const expected *e = &own.reference.elements[i];
            const float model = number_round(NUMBER_BF16, e->modelled);
            const float next = number_round(NUMBER_BF16, e->modelled * (1 + 0x1p-7f));
            const float value = number_round(NUMBER_BF16, (float)e->value);
            EXPECT(compare(&own, model, e).right, "%s: %zu", step->name, i);
            EXPECT(exact || !compare(&own, next, e).right, "%s: %zu", step->name, i);
            EXPECT(compare(&other, value, e).right, "others: %zu", i);
            EXPECT(!compare(&other, NAN, e).right, "NaN: %zu", i);
            lost += (double)e->modelled != e->value;
        }
        EXPECT(exact ? lost == 0 : lost > 300, "%s: %d sums lost something", step->name, lost);
        reference_destroy(&own.reference);
    }
}

/* What another library may give passes, promoted at any interval or k split into parts; zeros do
 * not, nor do sums without one k-tile, or with one twice. */
static void others_are_bounded(void) {
    static const step *const steps[] = {&PLAIN, &BLOCKS};
    for (int i = 0; 512 << i / 2 <= MOST_K; ++i) {
        const int k = 512 << i / 2;
        const problem problem = make_operands(1, SUMS, k, INPUTS_NORMAL, (uint64_t)k);
        const examination other = examine(steps[i % 2], &problem, false);
        arithmetic arithmetic = other.reference.arithmetic;
        int refused[3] = {0};
        for (size_t column = 0; column < SUMS; ++column) {
            expected e = other.reference.elements[column];
            for (int promotion = E4M3_K; promotion <= (i % 2 == 0 ? k : SCALE_BLOCK);
                 promotion *= 2) {
                arithmetic.promotion = promotion;
                reference_model(&arithmetic, &problem, column, NULL, NULL, &e);
                EXPECT(compare(&other, number_round(NUMBER_BF16, e.modelled), &e).right,
                       "k=%d, promoted every %d: %g, not %g", k, promotion, (double)e.modelled,
                       e.value);
            }
            refused[0] += !compare(&other, 0, &e).right;
            for (size_t first = 0; first < (size_t)k; first += SCALE_BLOCK) {
                double part = 0; /* the sum of a k-tile */
                for (size_t j = first; j < first + SCALE_BLOCK; ++j) {
                    part += scaled_element(&arithmetic, &problem, false, 0, j) *
                            scaled_element(&arithmetic, &problem, true, column, j);
                }
                refused[1] += !compare(&other, (float)(e.value - part), &e).right;
                refused[2] += !compare(&other, (float)(e.value + part), &e).right;
            }
        }
        EXPECT(refused[0] > SUMS / 2 && refused[1] > 0 && refused[2] > 0,
               "k=%d, %s: of %d zeros are refused %d times, sums without a k-tile %d times, with "
               "one twice %d times",
               k, steps[i % 2]->name, SUMS, refused[0], refused[1], refused[2]);
        reference_destroy(&other.reference);
    }
}

/* The sum of 8192 products of e4m3, in parts of `promotion` that fp32 adds up; if `exact`, added in
 * double precision. Of the operands from N(0, 1) only the magnitudes count if `positive`. */
static double sum_of_8192(uint64_t number, int promotion, bool positive, double *exact) {
    enum { PRODUCTS = 8192 };
    float sum = 0;
    float part = 0;
    *exact = 0;
    for (int i = 0; i < PRODUCTS; i += E4M3_K) {
        float a[E4M3_K];
        float b[E4M3_K];
        for (int j = 0; j < E4M3_K; ++j) {
            const uint64_t index = number * PRODUCTS + (uint64_t)(i + j);
            a[j] = number_round(NUMBER_E4M3, random_normal(random_bits(1, 1, index)));
            b[j] = number_round(NUMBER_E4M3, random_normal(random_bits(1, 2, index)));
            a[j] = positive ? fabsf(a[j]) : a[j];
            b[j] = positive ? fabsf(b[j]) : b[j];
            *exact += (double)a[j] * b[j];
        }
        part = multiply_add(a, b, E4M3_K, part);
        if ((i + E4M3_K) % promotion == 0) {
            sum += part;
            part = 0;
        }
    }
    return sum;
}

/* The table of notes/rungs/f02.md: root mean squares of errors, in percent of those of the sums. */
static void promotion_helps(void) {
    enum { SUMS = 200 };
    static const struct {
        int promotion;
        double percent[2]; /* random signs, all positive */
    } rows[] = {{8192, {0.20, 13}},
                {1024, {0.052, 1.5}},
                {512, {0.033, 0.61}},
                {256, {0.021, 0.21}},
                {128, {0.013, 0.062}}};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; ++i) {
        const bool positive = i % 2 == 1;
        double errors = 0;
        double squares = 0;
        for (uint64_t number = 0; number < SUMS; ++number) {
            double exact;
            const double sum = sum_of_8192(number, rows[i / 2].promotion, positive, &exact);
            errors += (sum - exact) * (sum - exact);
            squares += exact * exact;
        }
        const double percent = 100 * sqrt(errors / squares);
        const double wanted = rows[i / 2].percent[positive];
        EXPECT(fabs(percent - wanted) < 0.15 * wanted, "%d products, %s: %.3g %%, not %.3g",
               rows[i / 2].promotion, positive ? "positive" : "random signs", percent, wanted);
    }
}

static void nan_reaches_the_output(void) {
    expected e[2];
    const problem problem = make_operands(M, N, K, INPUTS_NORMAL, 1);
    made.a[K + 700] = 0xff;
    for (size_t s = 0; s < sizeof STEPS / sizeof *STEPS; ++s) {
        const arithmetic arithmetic = arithmetic_of(STEPS[s]);
        reference_model(&arithmetic, &problem, N + 5, NULL, NULL, &e[0]);
        reference_model(&arithmetic, &problem, N - 1, NULL, NULL, &e[1]);
        EXPECT(isnan(e[0].modelled) && !isnan(e[1].modelled), "row 1, and row 0");
    }
}

/* ---- what a GPU gave */

static const char *recorded; /* a file that tests/device/test_e4m3.cu wrote */

static bool read_operand(FILE *file, uint8_t bits[E4M3_K], e4m3_group *group) {
    unsigned byte;
    for (int i = 0; i < E4M3_K; ++i) {
        if (fscanf(file, "%2x", &byte) != 1) {
            return false;
        }
        bits[i] = (uint8_t)byte;
    }
    e4m3_read(group, bits);
    return true;
}

static void as_recorded(void) {
    FILE *file = fopen(recorded, "r");
    uint8_t bits[2][E4M3_K];
    e4m3_group a;
    e4m3_group b;
    unsigned addend;
    unsigned sum;
    int vectors = 0;
    while (file != NULL && read_operand(file, bits[0], &a) && read_operand(file, bits[1], &b) &&
           fscanf(file, "%x %x", &addend, &sum) == 2) {
        float value;
        memcpy(&value, &addend, sizeof value);
        ++vectors;
        EXPECT(integers_multiply_add(bits[0], bits[1], addend) == sum, "integers, line %d",
               vectors);
        EXPECT(word(e4m3_multiply_add(&a, &b, value)) == sum, "line %d", vectors);
    }
    EXPECT(vectors > 0, "%s has no vectors", recorded);
    if (file != NULL) {
        fclose(file);
    }
}

static void recorded_vectors(void) {
    glob_t found;
    if (glob("bench/results/instructions/e4m3-*.txt", 0, NULL, &found) != 0) {
        skip_case("recorded sums", "none lie here: test_e4m3-gpu --record on a GPU");
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; ++i) {
        recorded = found.gl_pathv[i];
        run_case(recorded, as_recorded);
    }
    globfree(&found);
}

int main(void) {
    for (now = ROWS; now < ROWS + sizeof ROWS / sizeof *ROWS; ++now) {
        run_row("e4m3 sums", now->name, one_sum);
    }
    run_case("e4m3: every number", every_number);
    run_case("e4m3: rounding, and saturation", rounding_to_e4m3);
    run_case("e4m3: whole numbers that sums hold", whole_numbers);
    run_case("e4m3: scales, and where they are", scales);
    run_case("e4m3: the model and its bound, and exact inputs", modelled);
    run_case("e4m3: other libraries' sums, and wrong ones", others_are_bounded);
    run_case("e4m3: promotion makes errors smaller", promotion_helps);
    run_case("e4m3: a NaN reaches the output", nan_reaches_the_output);
    recorded_vectors();
    return test_result();
}
