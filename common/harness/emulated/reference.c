/* The reference by its definition, in fp64. */
#include "harness/reference.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/emulated/widened.h"
#include "harness/message.h"

/* Columns of D whose sums are made side by side, in vectors of 16 bytes, which every processor has:
 * the compiler keeps those in registers if it is told to unroll the loops over them. */
enum { LANES = 2, VECTORS = 4, TOGETHER = LANES * VECTORS };
typedef double numbers __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t bits __attribute__((vector_size(LANES * sizeof(int64_t))));
typedef union columns {
    double number[TOGETHER];
    numbers vector[VECTORS];
} columns;
static const int64_t ALL_BUT_THE_SIGN = INT64_MAX;

/* Values are only drawn between rows of this many products, as far as progress goes. */
static const double PRODUCTS_BETWEEN_UPDATES = 1e6;
enum { SAMPLES_BETWEEN_UPDATES = 1024 };

/* The operands in fp32, what else an element is made of, and [k] numbers of TOGETHER rows of B. */
typedef struct operands {
    const problem *problem;
    float *a;
    float *b;
    columns *panel;
} operands;

/* What becomes of TOGETHER elements of D: see expected in compare.h. */
typedef struct sums {
    columns value;
    columns magnitude;
    columns partials;
} sums;

/* An empty panel, or NULL after printing one line. */
static columns *new_panel(size_t k) {
    const size_t bytes = k * sizeof(columns);
    columns *panel = aligned_alloc(sizeof(columns), bytes);
    if (panel == NULL) {
        message("no memory for %zu bytes of the reference's operands", bytes);
        return NULL;
    }
    memset(panel, 0, bytes);
    return panel;
}

static float rounded_up(double value) { return nextafterf((float)value, INFINITY); }

/* Lays `count` rows of B, those of the columns of D from `first` on, side by side. What else is in
 * the panel stays there: it makes sums that nobody asks for. */
static void fill_panel(const reference *reference, const operands *operands, size_t first,
                       size_t count) {
    const size_t k = (size_t)reference->k;
    for (size_t i = 0; i < count; ++i) {
        const float *column = operands->b + (first + i) * k;
        for (size_t j = 0; j < k; ++j) {
            operands->panel[j].number[i] = (double)column[j];
        }
    }
}

/* The sums of a row of A and all columns of the panel, in the order of k. */
static sums row_by_panel(const float *row, const columns *panel, size_t k) {
    sums sums = {0};
    for (size_t j = 0; j < k; ++j) {
        const double factor = (double)row[j];
#pragma GCC unroll VECTORS
        for (int i = 0; i < VECTORS; ++i) {
            const numbers product = factor * panel[j].vector[i];
            sums.value.vector[i] += product;
            sums.magnitude.vector[i] += (numbers)((bits)product & ALL_BUT_THE_SIGN);
        }
        if ((j + 1) % FP16_SUM_GROUP != 0 && j + 1 != k) {
            continue;
        }
#pragma GCC unroll VECTORS
        for (int i = 0; i < VECTORS; ++i) {
            const numbers sum = sums.value.vector[i];
            sums.partials.vector[i] += (numbers)((bits)sum & ALL_BUT_THE_SIGN);
        }
    }
    return sums;
}

/* Writes element `to` of the reference, which is number `i` of the sums and stands at `position`.
 */
static void write_element(reference *reference, const operands *operands, const sums *sums,
                          size_t i, size_t position, size_t to) {
    double value = sums->value.number[i];
    double magnitude = sums->magnitude.number[i];
    if (reference->arithmetic.takes_c) {
        reference_epilogue(operands->problem, position, &value, &magnitude);
    }
    reference->values[to] = value;
    reference->magnitudes[to] = rounded_up(magnitude);
    if (reference->partials != NULL) {
        reference->partials[to] = rounded_up(sums->partials.number[i]);
    }
}

/* `count` columns of D from `first` on, at most TOGETHER. */
static void compute_columns(reference *reference, const operands *operands, size_t first,
                            size_t count, progress *progress) {
    const size_t m = (size_t)reference->m;
    const size_t n = (size_t)reference->n;
    const size_t k = (size_t)reference->k;
    double products = 0;
    fill_panel(reference, operands, first, count);
    for (size_t row = 0; row < m; ++row) {
        const sums sums = row_by_panel(operands->a + row * k, operands->panel, k);
        for (size_t i = 0; i < count; ++i) {
            const size_t position = row * n + first + i;
            write_element(reference, operands, &sums, i, position, position);
        }
        products += TOGETHER * (double)k;
        if (products > PRODUCTS_BETWEEN_UPDATES) {
            progress_update(progress, (double)(first * m + row * count) / (double)(m * n));
            products = 0;
        }
    }
}

static void compute_all(reference *reference, const operands *operands, progress *progress) {
    const size_t n = (size_t)reference->n;
    for (size_t first = 0; first < n; first += TOGETHER) {
        compute_columns(reference, operands, first, n - first < TOGETHER ? n - first : TOGETHER,
                        progress);
    }
}

static void compute_sample(reference *reference, const operands *operands, progress *progress) {
    const size_t n = (size_t)reference->n;
    const size_t k = (size_t)reference->k;
    for (size_t to = 0; to < reference->count; ++to) {
        const size_t position = (size_t)reference->positions[to];
        fill_panel(reference, operands, position % n, 1);
        const sums sums = row_by_panel(operands->a + position / n * k, operands->panel, k);
        write_element(reference, operands, &sums, 0, position, to);
        if (to % SAMPLES_BETWEEN_UPDATES == 0) {
            progress_update(progress, (double)to / (double)reference->count);
        }
    }
}

static void compute_words(reference *reference, const problem *problem) {
    for (size_t i = 0; i < reference->count; ++i) {
        reference->words[i] = reference_word(reference, problem, i);
    }
}

int reference_compute(reference *reference, const problem *problem, struct CUstream_st *stream) {
    (void)stream; /* nothing runs beside the host here */
    if (reference->words != NULL) {
        compute_words(reference, problem);
        return 0;
    }
    const enum number format = reference->arithmetic.operands;
    operands operands = {problem, widened(format, problem->a, reference->m, reference->k),
                         widened(format, problem->b, reference->n, reference->k),
                         new_panel((size_t)reference->k)};
    const bool ready = operands.a != NULL && operands.b != NULL && operands.panel != NULL;
    if (ready) {
        progress progress;
        progress_begin(&progress, "computing the reference");
        if (reference->positions == NULL) {
            compute_all(reference, &operands, &progress);
        } else {
            compute_sample(reference, &operands, &progress);
        }
        progress_end(&progress);
    }
    free(operands.a);
    free(operands.b);
    free(operands.panel);
    return ready ? 0 : 1;
}
