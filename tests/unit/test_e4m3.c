/* What the harness makes of e4m3's sums on the tensor cores, which tests/device/test_e4m3.cu
 * compares with those of a GPU. */
#include <math.h>

#include "harness/check.h"
#include "../tools/test.h"

/* ---- sums */

static float multiply_add(const float *a, const float *b, float addend) {
    uint8_t bits[2][E4M3_K];
    e4m3_group groups[2];
    for (int i = 0; i < E4M3_K; ++i) {
        bits[0][i] = e4m3_from_float(a[i]);
        bits[1][i] = e4m3_from_float(b[i]);
    }
    e4m3_read(&groups[0], bits[0]);
    e4m3_read(&groups[1], bits[1]);
    return e4m3_multiply_add(&groups[0], &groups[1], addend);
}

/* What no GPU recorded: whole numbers up to the limit, where one more is lost; a zero's exponent
 * counts for nothing; a NaN in B. */
static void one_wgmma(void) {
    static const float one[E4M3_K] = {1}, zero[E4M3_K] = {0}, nan[E4M3_K] = {NAN};
    EXPECT(multiply_add(one, one, E4M3_INTEGERS - 1) == E4M3_INTEGERS, "up to the limit");
    EXPECT(multiply_add(one, one, E4M3_INTEGERS) == E4M3_INTEGERS, "one more");
    EXPECT(multiply_add(zero, one, 0x1p-40f) == 0x1p-40f, "a zero");
    EXPECT(bits_of_float(multiply_add(zero, nan, INFINITY)) == 0x7fffffff, "a NaN in B");
}

/* ---- the harness */

static const step PLAIN = {.name = "f01", .computes = GEMM_FP8};
static const step PROMOTED = {.name = "f02", .computes = GEMM_FP8, .promotion = 128};
static const step BLOCKS = {
    .name = "f03", .computes = GEMM_FP8, .promotion = 128, .block_scales = true};
static const step *const STEPS[] = {&PLAIN, &PROMOTED, &BLOCKS};

/* Operands with room for the longest sums, and scales for each block: 3 rows of A, 131 of B, of
 * which the last ones have other scales; or one row of A and SUMS of B, of up to MOST_K. */
enum { M = 3, N = 131, K = 1040 };
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

/* They are random in both their powers of two and their fractions. */
static void scales(void) {
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

int main(void) {
    run_case("e4m3: sums of one wgmma", one_wgmma);
    run_case("e4m3: scales", scales);
    run_case("e4m3: the model and its bound, and exact inputs", modelled);
    run_case("e4m3: other libraries' sums, and wrong ones", others_are_bounded);
    return test_result();
}
