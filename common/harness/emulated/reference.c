/* The reference by its definition, in fp64; and the second opinion on a machine without cuBLAS: of
 * products fp32 sums, as the rungs have, in an order of its own. Nothing runs asynchronously here:
 * streams are not used. */
#include "harness/reference.h"

#include <math.h>
#include <stdlib.h>

#include "harness/elements.h"
#include "harness/message.h"

/* Columns of D whose sums are made side by side: the compiler keeps them in registers. */
enum { SIDE_BY_SIDE = 8 };

/* A in fp64, [m][k], or B in panels of rows side by side, [panel][k][SIDE_BY_SIDE], times their
 * scales, which is exact: each element is decoded once. The caller frees it. */
static double *decoded(const arithmetic *arithmetic, const problem *problem, bool is_b) {
    const size_t rows = (size_t)(is_b ? problem->n : problem->m);
    const size_t k = (size_t)problem->k;
    const size_t width = is_b ? SIDE_BY_SIDE : 1;
    double *copy = allocate((rows + width - 1) / width * width * k, sizeof *copy);
    for (size_t row = 0; row < rows; ++row) {
        for (size_t j = 0; j < k; ++j) {
            const float number =
                number_read(arithmetic->operands, is_b ? problem->b : problem->a, row * k + j);
            const float scale = (is_b ? scale_of_b : scale_of_a)(arithmetic, problem, row, j);
            copy[(row / width * k + j) * width + row % width] = (double)number * (double)scale;
        }
    }
    return copy;
}

/* With scales, the rows of a matrix as wgmma takes them, group after group; else NULL. */
static e4m3_group *decoded_groups(const arithmetic *arithmetic, const void *matrix, int rows,
                                  size_t k) {
    const size_t groups = (k + E4M3_K - 1) / E4M3_K;
    e4m3_group *copy = NULL;
    if (arithmetic->scaled) {
        copy = allocate((size_t)rows * groups, sizeof *copy);
        for (size_t i = 0; i < (size_t)rows * groups; ++i) {
            const uint8_t *row = (const uint8_t *)matrix + i / groups * k;
            (void)reference_group(&copy[i], row, i % groups * E4M3_K, k);
        }
    }
    return copy;
}

static float rounded_up(double value) { return nextafterf((float)value, INFINITY); }

/* Of some columns: the sums of products, of their magnitudes, and of the partial sums'. */
typedef struct sums {
    double value[SIDE_BY_SIDE], magnitude[SIDE_BY_SIDE], partials[SIDE_BY_SIDE];
} sums;

/* Inlined, it would find fewer free registers. */
__attribute__((noinline)) static sums row_by_panel(const double *row, const double *panel,
                                                   size_t k) {
    sums sums = {{0}, {0}, {0}};
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

static void multiply_exactly(const reference *reference, const problem *problem) {
    const arithmetic *arithmetic = &reference->arithmetic;
    const size_t n = (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    const size_t groups = (k + E4M3_K - 1) / E4M3_K;
    double *a = decoded(arithmetic, problem, false);
    double *b = decoded(arithmetic, problem, true);
    e4m3_group *groups_a = decoded_groups(arithmetic, problem->a, problem->m, k);
    e4m3_group *groups_b = decoded_groups(arithmetic, problem->b, problem->n, k);
    sums sums;
    progress progress;
    progress_begin(&progress, "computing the reference");
    for (size_t i = 0; i < reference->count; ++i) {
        const size_t row = i / n;
        const size_t column = i % n;
        const size_t beside = column % SIDE_BY_SIDE;
        if (beside == 0) {
            sums = row_by_panel(a + row * k, b + column * k, k);
            progress_update(&progress, (double)i / (double)reference->count);
        }
        double value = sums.value[beside];
        double magnitude = sums.magnitude[beside];
        double partials = sums.partials[beside];
        float modelled = 0;
        if (arithmetic->takes_c) {
            reference_epilogue(problem, i, &value, &magnitude);
        }
        if (arithmetic->scaled) {
            modelled = reference_modelled(arithmetic, problem, i, &groups_a[row * groups],
                                          &groups_b[column * groups], &partials);
        }
        reference->elements[i] =
            (expected){value, rounded_up(magnitude), rounded_up(partials), modelled};
    }
    progress_hide(&progress);
    free(a);
    free(b);
    free(groups_a);
    free(groups_b);
}

void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream) {
    (void)stream;
    if (reference->words == NULL) {
        multiply_exactly(reference, problem);
        return;
    }
    for (size_t i = 0; i < reference->count; ++i) {
        reference->words[i] = reference_word(reference, problem, i);
    }
}

/* ---- the second opinion */

struct second_opinion {
    arithmetic arithmetic;
};

second_opinion *second_opinion_open(const step *step, int contender, struct CUstream_st *stream) {
    (void)stream;
    (void)contender; /* there is only one */
    second_opinion *opinion = allocate(1, sizeof *opinion);
    opinion->arithmetic = arithmetic_of(step);
    return opinion;
}

bool second_opinion_takes(second_opinion *opinion, const problem *problem) {
    (void)opinion;
    (void)problem;
    return true;
}

void second_opinion_close(second_opinion *opinion) { free(opinion); }

/* From the last product to the first. */
static void sum_backwards(float *sums, const double *row, const double *panel, size_t k) {
    float all[SIDE_BY_SIDE] = {0};
    for (size_t j = k; j-- > 0;) {
#pragma GCC unroll SIDE_BY_SIDE
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            all[i] += (float)(row[j] * panel[j * SIDE_BY_SIDE + i]);
        }
    }
    memcpy(sums, all, sizeof all);
}

/* What alpha or beta multiplies by 0 is not read. */
static void multiply(const arithmetic *arithmetic, const problem *problem) {
    const size_t n = (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    double *a = decoded(arithmetic, problem, false);
    double *b = decoded(arithmetic, problem, true);
    float sums[SIDE_BY_SIDE] = {0};
    progress progress;
    progress_begin(&progress, "computing the host product");
    for (size_t i = 0; i < (size_t)problem->m * n; ++i) {
        const size_t beside = i % n % SIDE_BY_SIDE;
        if (beside == 0) {
            sum_backwards(sums, a + i / n * k, b + i % n * k, k);
            progress_update(&progress, (double)i / ((double)problem->m * (double)n));
        }
        float d = sums[beside];
        if (arithmetic->takes_c) {
            d = problem->alpha == 0 ? 0 : problem->alpha * d;
            d += problem->beta == 0 ? 0 : problem->beta * ((const float *)problem->c)[i];
        }
        number_write(arithmetic->output, problem->d, i, d);
    }
    progress_hide(&progress);
    free(a);
    free(b);
}

/* Reads A from its first word to its last: the reference goes over D. */
static void transpose(const problem *problem) {
    const size_t m = (size_t)problem->m;
    const size_t n = (size_t)problem->n;
    for (size_t i = 0; i < m * n; ++i) {
        ((uint32_t *)problem->d)[i % n * m + i / n] = ((const uint32_t *)problem->a)[i];
    }
}

void second_opinion_launch(second_opinion *opinion, const problem *problem) {
    if (opinion->arithmetic.transposes) {
        transpose(problem);
    } else if (opinion->arithmetic.moves) {
        elements_add_one(problem);
    } else {
        multiply(&opinion->arithmetic, problem);
    }
}
