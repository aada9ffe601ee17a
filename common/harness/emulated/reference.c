/* What the emulator has in place of kernels of the harness: operands, checks, the reference by its
 * definition, in fp64; and in place of cuBLAS: of products fp32 sums, as the rungs have, in an
 * order of its own. Nothing runs asynchronously here: streams are not used. */
#include "harness/reference.h"

#include <stdlib.h>

#include "emulator/emulator.h"
#include "harness/check.h"
#include "harness/message.h"

void operand_fill(const operand *operand, void *to, struct CUstream_st *stream) {
    for (size_t i = 0; i < operand->count; ++i) {
        operand_write(operand, to, i);
    }
    emulator_wrote(to, operand->count * number_bytes(operand->format), stream);
}

findings check_elements(const examination *examination, struct CUstream_st *stream) {
    findings found = NOTHING_FOUND;
    (void)stream;
    for (size_t i = 0; i < examination->reference.count; ++i) {
        check_element(examination, i, &found);
    }
    return found;
}

/* ---- products */

/* Columns of D whose sums are made side by side: the compiler keeps them in registers. */
enum { SIDE_BY_SIDE = 8 };

/* The sums of some columns. */
typedef struct panel_sums {
    double value[SIDE_BY_SIDE], magnitude[SIDE_BY_SIDE], partials[SIDE_BY_SIDE];
} panel_sums;

/* Inlined, it would find fewer free registers. */
__attribute__((noinline)) static panel_sums sum_exactly(const double *row, const double *panel,
                                                        size_t k) {
    panel_sums sums = {{0}, {0}, {0}};
    for (size_t j = 0; j < k; ++j) {
#pragma GCC unroll SIDE_BY_SIDE
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            const double product = row[j] * panel[j * SIDE_BY_SIDE + i];
            sums.value[i] += product;
            sums.magnitude[i] += fabs(product);
        }
        if ((j + 1) % FP16_SUM_GROUP != 0 && j + 1 != k) {
            continue;
        }
#pragma GCC unroll SIDE_BY_SIDE
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            sums.partials[i] += fabs(sums.value[i]);
        }
    }
    return sums;
}

/* In fp32, from the last product to the first: the values alone. */
__attribute__((noinline)) static void sum_backwards(float sums[SIDE_BY_SIDE], const double *row,
                                                    const double *panel, size_t k) {
    float all[SIDE_BY_SIDE] = {0};
    for (size_t j = k; j-- > 0;) {
#pragma GCC unroll SIDE_BY_SIDE
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            all[i] += (float)(row[j] * panel[j * SIDE_BY_SIDE + i]);
        }
    }
    memcpy(sums, all, sizeof all);
}

/* A in fp64, [m][k], or B in panels of rows side by side, [panel][k][SIDE_BY_SIDE], times their
 * scales: each element is decoded once. The caller frees it. */
static double *decoded(const arithmetic *arithmetic, const problem *problem, bool is_b) {
    const size_t rows = (size_t)(is_b ? problem->n : problem->m);
    const size_t k = (size_t)problem->k;
    const size_t width = is_b ? SIDE_BY_SIDE : 1;
    double *copy = allocate((rows + width - 1) / width * width * k, sizeof *copy);
    for (size_t i = 0; i < rows * k; ++i) {
        const size_t row = i / k, j = i % k;
        copy[(row / width * k + j) * width + row % width] =
            scaled_element(arithmetic, problem, is_b, row, j);
    }
    return copy;
}

/* The rows of A or B as wgmma takes them, group after group. The caller frees it. */
static e4m3_group *decoded_groups(const void *matrix, int rows, size_t k) {
    const size_t groups = (k + E4M3_K - 1) / E4M3_K;
    const size_t count = (size_t)rows * groups;
    e4m3_group *copy = allocate(count, sizeof *copy);
    for (size_t i = 0; i < count; ++i) {
        const uint8_t *row = (const uint8_t *)matrix + i / groups * k;
        (void)reference_group(&copy[i], row, i % groups * E4M3_K, k);
    }
    return copy;
}

/* An element of D from its fp32 sum. What alpha or beta multiplies by 0 is not read. */
static void write_product(const arithmetic *is, const problem *problem, size_t i, float sum) {
    if (is->takes_c) {
        sum = problem->alpha == 0 ? 0 : problem->alpha * sum;
        sum += problem->beta == 0 ? 0 : problem->beta * ((const float *)problem->c)[i];
    }
    number_write(is->output, problem->d, i, sum);
}

/* Makes the elements of the reference; or, if that is NULL, those of D from fp32 sums. */
static void multiply(const arithmetic *is, const problem *problem, expected *elements) {
    const size_t n = (size_t)problem->n, k = (size_t)problem->k, count = (size_t)problem->m * n;
    const size_t groups = (k + E4M3_K - 1) / E4M3_K;
    const bool models = is->scaled && elements != NULL;
    double *a = decoded(is, problem, false);
    double *b = decoded(is, problem, true);
    e4m3_group *groups_a = models ? decoded_groups(problem->a, problem->m, k) : NULL;
    e4m3_group *groups_b = models ? decoded_groups(problem->b, problem->n, k) : NULL;
    panel_sums exact;
    float sums[SIDE_BY_SIDE];
    progress progress;
    progress_begin(&progress,
                   elements != NULL ? "computing the reference" : "computing the host product");
    for (size_t i = 0; i < count; ++i) {
        const size_t row = i / n, column = i % n, beside = column % SIDE_BY_SIDE;
        if (beside == 0 && elements != NULL) {
            exact = sum_exactly(a + row * k, b + column * k, k);
        } else if (beside == 0) {
            sum_backwards(sums, a + row * k, b + column * k, k);
        }
        if (beside == 0) {
            progress_update(&progress, (double)i / (double)count);
        }
        if (elements != NULL) {
            elements[i] =
                reference_epilogue(is, problem, i,
                                   (struct sums){exact.value[beside], exact.magnitude[beside],
                                                 exact.partials[beside]});
        } else {
            write_product(is, problem, i, sums[beside]);
        }
        if (models) {
            reference_model(is, problem, i, &groups_a[row * groups], &groups_b[column * groups],
                            &elements[i]);
        }
    }
    progress_hide(&progress);
    free(a);
    free(b);
    free(groups_a);
    free(groups_b);
}

void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream) {
    const arithmetic *is = &reference->arithmetic;
    (void)stream;
    if (!is->moves) {
        multiply(is, problem, reference->elements);
    }
    for (size_t i = 0; i < reference->count && is->moves; ++i) {
        reference->words[i] = reference_word(is, problem, i);
    }
}

/* ---- the second opinion */

struct second_opinion {
    arithmetic arithmetic;
};

second_opinion *second_opinion_open(const step *step, enum contender_role role,
                                    const problem *problem) {
    second_opinion *opinion = allocate(1, sizeof *opinion);
    (void)role; /* there is only one */
    (void)problem;
    opinion->arithmetic = arithmetic_of(step);
    return opinion;
}

void second_opinion_close(second_opinion *opinion) { free(opinion); }

/* Reads A from its first word to its last: the reference goes over D. */
void second_opinion_launch(second_opinion *opinion, const problem *problem) {
    const arithmetic *is = &opinion->arithmetic;
    const size_t m = (size_t)problem->m;
    const size_t n = (size_t)problem->n;
    if (!is->moves) {
        multiply(is, problem, NULL);
    }
    for (size_t i = 0; i < m * n && is->moves; ++i) {
        const uint32_t word = ((const uint32_t *)problem->a)[i];
        ((uint32_t *)problem->d)[is->transposes ? i % n * m + i / n : i] =
            is->transposes ? word : word + 1;
    }
}
