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

/* Of a row of A and one of B. */
static sums sum_exactly(const double *a, const double *b, size_t k) {
    sums sums = {0, 0, 0};
    for (size_t j = 0; j < k; ++j) {
        const double product = a[j] * b[j];
        sums.value += product;
        sums.magnitude += fabs(product);
        sums.partials += (j + 1) % FP16_SUM_GROUP == 0 || j + 1 == k ? fabs(sums.value) : 0;
    }
    return sums;
}

/* In fp32, from the last product to the first. */
static float sum_backwards(const double *a, const double *b, size_t k) {
    float sum = 0;
    for (size_t j = k; j-- > 0;) {
        sum += (float)(a[j] * b[j]);
    }
    return sum;
}

/* The elements of A or B in fp64, times their scales: each is decoded once. The caller frees it. */
static double *decoded(const arithmetic *arithmetic, const problem *problem, bool is_b) {
    const size_t k = (size_t)problem->k;
    const size_t count = (size_t)(is_b ? problem->n : problem->m) * k;
    double *copy = allocate(count, sizeof *copy);
    for (size_t i = 0; i < count; ++i) {
        copy[i] = scaled_element(arithmetic, problem, is_b, i / k, i % k);
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
    progress progress;
    progress_begin(&progress,
                   elements != NULL ? "computing the reference" : "computing the host product");
    for (size_t i = 0; i < count; ++i) {
        const size_t row = i / n, column = i % n;
        const double *row_a = a + row * k, *row_b = b + column * k;
        if (elements != NULL) {
            elements[i] = reference_epilogue(is, problem, i, sum_exactly(row_a, row_b, k));
        } else {
            write_product(is, problem, i, sum_backwards(row_a, row_b, k));
        }
        if (models) {
            reference_model(is, problem, i, &groups_a[row * groups], &groups_b[column * groups],
                            &elements[i]);
        }
        if (column == 0) {
            progress_update(&progress, (double)i / (double)count);
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
