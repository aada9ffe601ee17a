/* The reference by its definition, in fp64; and the second opinion on a machine without cuBLAS: of
 * products fp32 sums, as the rungs have, in an order of its own. Nothing runs asynchronously here:
 * streams are not used. */
#include "harness/reference.h"

#include <math.h>
#include <stdlib.h>

#include "harness/message.h"

/* Sums that are made side by side: loops over them are unrolled, so that the compiler keeps them in
 * registers. */
enum { COLUMNS = 8, PARTS = 16, SAMPLES_BETWEEN_UPDATES = 1024 };

/* A or B in fp64, times its scales, which is exact, so that a loop over it has no format to look
 * at. The caller frees it. */
static double *widened(const arithmetic *arithmetic, const problem *problem, bool is_b) {
    const size_t rows = (size_t)(is_b ? problem->n : problem->m);
    const size_t k = (size_t)problem->k;
    double *copy = allocate(rows * k, sizeof *copy);
    for (size_t row = 0; row < rows; ++row) {
        for (size_t j = 0; j < k; ++j) {
            const size_t i = row * k + j;
            copy[i] = (double)number_read(arithmetic->operands, is_b ? problem->b : problem->a, i) *
                      (double)(is_b ? scale_of_b : scale_of_a)(arithmetic, problem, row, j);
        }
    }
    return copy;
}

/* The results for COLUMNS elements of D: see expected in compare.h. */
typedef struct sums {
    double value[COLUMNS], magnitude[COLUMNS], partials[COLUMNS];
} sums;

/* The operands in fp64, and [k] numbers of COLUMNS rows of B; with scales, their rows also as wgmma
 * takes them, group after group, else NULL. */
typedef struct operands {
    double *a, *b;
    e4m3_group *groups_a, *groups_b;
    double (*panel)[COLUMNS];
} operands;

static size_t groups_of(size_t k) { return (k + E4M3_K - 1) / E4M3_K; }

/* Every element of D needs a row of A and one of B: each is decoded once. */
static e4m3_group *decoded(const arithmetic *arithmetic, const void *matrix, int rows, size_t k) {
    if (!arithmetic->scaled) {
        return NULL;
    }
    const size_t groups = groups_of(k);
    e4m3_group *copy = allocate((size_t)rows * groups, sizeof *copy);
    for (size_t i = 0; i < (size_t)rows * groups; ++i) {
        (void)reference_group(&copy[i], (const uint8_t *)matrix + i / groups * k,
                              i % groups * E4M3_K, k);
    }
    return copy;
}

/* Lays `count` rows of B, those of the columns of D from `first` on, side by side. The rest of the
 * panel keeps its contents: its sums are not used. */
static void fill_panel(const operands *operands, size_t k, size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < k; ++j) {
            operands->panel[j][i] = operands->b[(first + i) * k + j];
        }
    }
}

/* The sums of a row of A and all columns of the panel, in the order of k. */
static sums row_by_panel(const double *row, double (*panel)[COLUMNS], size_t k) {
    sums sums = {{0}, {0}, {0}};
    for (size_t j = 0; j < k; ++j) {
#pragma GCC unroll COLUMNS
        for (int i = 0; i < COLUMNS; ++i) {
            const double product = row[j] * panel[j][i];
            sums.value[i] += product;
            sums.magnitude[i] += fabs(product);
        }
        if ((j + 1) % FP16_SUM_GROUP != 0 && j + 1 != k) {
            continue;
        }
#pragma GCC unroll COLUMNS
        for (int i = 0; i < COLUMNS; ++i) {
            sums.partials[i] += fabs(sums.value[i]);
        }
    }
    return sums;
}

static float rounded_up(double value) { return nextafterf((float)value, INFINITY); }

/* Writes element `to` of the reference, which is number i of the sums and at `position` of D. */
static void write_element(const reference *reference, const problem *problem,
                          const operands *operands, const sums *sums, size_t i, size_t position,
                          size_t to) {
    double value = sums->value[i];
    double magnitude = sums->magnitude[i];
    if (reference->arithmetic.takes_c) {
        reference_epilogue(problem, position, &value, &magnitude);
    }
    reference->values[to] = value;
    reference->magnitudes[to] = rounded_up(magnitude);
    if (reference->partials != NULL) {
        reference->partials[to] = rounded_up(sums->partials[i]);
    }
    if (reference->modelled != NULL) {
        const size_t groups = groups_of((size_t)reference->k);
        const size_t n = (size_t)reference->n;
        double cut;
        reference->modelled[to] = reference_modelled(
            &reference->arithmetic, problem, position, &operands->groups_a[position / n * groups],
            &operands->groups_b[position % n * groups], &cut);
        reference->partials[to] = rounded_up(cut);
    }
}

static void compute_all(const reference *reference, const problem *problem,
                        const operands *operands, progress *progress) {
    const size_t n = (size_t)reference->n;
    const size_t k = (size_t)reference->k;
    for (size_t first = 0; first < n; first += COLUMNS) {
        const size_t count = n - first < COLUMNS ? n - first : COLUMNS;
        fill_panel(operands, k, first, count);
        for (size_t row = 0; row < (size_t)reference->m; ++row) {
            const sums sums = row_by_panel(operands->a + row * k, operands->panel, k);
            for (size_t i = 0; i < count; ++i) {
                const size_t position = row * n + first + i;
                write_element(reference, problem, operands, &sums, i, position, position);
            }
        }
        progress_update(progress, (double)first / (double)n);
    }
}

static void compute_sample(const reference *reference, const problem *problem,
                           const operands *operands, progress *progress) {
    const size_t n = (size_t)reference->n;
    const size_t k = (size_t)reference->k;
    for (size_t to = 0; to < reference->count; ++to) {
        const size_t position = (size_t)reference->positions[to];
        fill_panel(operands, k, position % n, 1);
        const sums sums = row_by_panel(operands->a + position / n * k, operands->panel, k);
        write_element(reference, problem, operands, &sums, 0, position, to);
        if (to % SAMPLES_BETWEEN_UPDATES == 0) {
            progress_update(progress, (double)to / (double)reference->count);
        }
    }
}

void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream) {
    (void)stream;
    if (reference->words != NULL) {
        for (size_t i = 0; i < reference->count; ++i) {
            reference->words[i] = reference_word(reference, problem, i);
        }
        return;
    }
    const arithmetic *arithmetic = &reference->arithmetic;
    const size_t k = (size_t)reference->k;
    const operands operands = {
        widened(arithmetic, problem, false), widened(arithmetic, problem, true),
        decoded(arithmetic, problem->a, problem->m, k),
        decoded(arithmetic, problem->b, problem->n, k), allocate(k, sizeof *operands.panel)};
    progress progress;
    progress_begin(&progress, "computing the reference");
    (reference->positions == NULL ? compute_all : compute_sample)(reference, problem, &operands,
                                                                  &progress);
    progress_hide(&progress);
    free(operands.a);
    free(operands.b);
    free(operands.groups_a);
    free(operands.groups_b);
    free(operands.panel);
}

/* ---- the second opinion */

struct second_opinion {
    arithmetic arithmetic;
};

const char *second_opinion_name(const step *step, int contender) {
    return contender != CONTENDER_OTHER ? NULL
           : arithmetic_of(step).moves  ? "the host loop"
                                        : "the host product";
}

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

static float dot_product(const double *a, const double *b, int k) {
    float sums[PARTS] = {0}; /* each of every PARTS-th product */
    float sum = 0;
    int i = 0;
    for (; i + PARTS <= k; i += PARTS) {
#pragma GCC unroll PARTS
        for (int part = 0; part < PARTS; ++part) {
            sums[part] += (float)(a[i + part] * b[i + part]);
        }
    }
    for (; i < k; ++i) {
        sum += (float)(a[i] * b[i]);
    }
    for (int part = 0; part < PARTS; ++part) {
        sum += sums[part];
    }
    return sum;
}

/* The element that a sum of products becomes; position is its place in C and D. What is multiplied
 * by 0 is not read. */
static float with_c(const problem *problem, size_t position, float sum) {
    const float scaled = problem->alpha == 0 ? 0 : problem->alpha * sum;
    return problem->beta == 0 ? scaled
                              : scaled + problem->beta * ((const float *)problem->c)[position];
}

static void multiply(const arithmetic *arithmetic, const problem *problem) {
    const size_t n = (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    double *a = widened(arithmetic, problem, false);
    double *b = widened(arithmetic, problem, true);
    progress progress;
    progress_begin(&progress, "computing the host product");
    for (size_t row = 0; row < (size_t)problem->m; ++row) {
        for (size_t column = 0; column < n; ++column) {
            const size_t position = row * n + column;
            const float sum = dot_product(a + row * k, b + column * k, problem->k);
            number_write(arithmetic->output, problem->d, position,
                         arithmetic->takes_c ? with_c(problem, position, sum) : sum);
        }
        progress_update(&progress, (double)row / (double)problem->m);
    }
    progress_hide(&progress);
    free(a);
    free(b);
}

/* Reads A from its first word to its last: the reference goes over D. */
static void move(const arithmetic *arithmetic, const problem *problem) {
    const size_t m = (size_t)problem->m;
    const size_t n = (size_t)problem->n;
    const uint32_t *a = problem->a;
    uint32_t *d = problem->d;
    for (size_t row = 0; row < m; ++row) {
        for (size_t column = 0; column < n; ++column, ++a) {
            if (arithmetic->transposes) {
                d[column * m + row] = *a;
            } else {
                d[row * n + column] = *a + 1;
            }
        }
    }
}

void second_opinion_launch(second_opinion *opinion, const problem *problem) {
    (opinion->arithmetic.moves ? move : multiply)(&opinion->arithmetic, problem);
}
