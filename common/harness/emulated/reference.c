/* The reference by its definition, in fp64. */
#include "harness/reference.h"

#include <math.h>
#include <stdlib.h>

#include "harness/emulated/widened.h"
#include "harness/message.h"

/* Elements whose sums are made side by side, so that one does not wait for the other's additions.
 */
enum { TOGETHER = 4 };

/* Values are only drawn between rows of this many products, as far as progress goes. */
static const double PRODUCTS_BETWEEN_UPDATES = 1e6;

/* The operands in fp32, and what else an element is made of. */
typedef struct operands {
    const problem *problem;
    float *a;
    float *b;
} operands;

static float rounded_up(double value) { return nextafterf((float)value, INFINITY); }

static size_t position_of(const reference *reference, size_t i) {
    return reference->positions == NULL ? i : (size_t)reference->positions[i];
}

/* `count` elements from `first` on, at most TOGETHER. */
static void compute_some(reference *reference, const operands *operands, size_t first, int count) {
    const size_t n = (size_t)reference->n;
    const size_t k = (size_t)reference->k;
    const float *row[TOGETHER];
    const float *column[TOGETHER];
    double sum[TOGETHER] = {0};
    double magnitude[TOGETHER] = {0};
    double partials[TOGETHER] = {0};
    for (int i = 0; i < count; ++i) {
        const size_t position = position_of(reference, first + (size_t)i);
        row[i] = operands->a + position / n * k;
        column[i] = operands->b + position % n * k;
    }
    for (size_t j = 0; j < k; ++j) {
        for (int i = 0; i < count; ++i) {
            const double product = (double)row[i][j] * (double)column[i][j];
            sum[i] += product;
            magnitude[i] += fabs(product);
        }
        if ((j + 1) % FP16_SUM_GROUP == 0 || j + 1 == k) {
            for (int i = 0; i < count; ++i) {
                partials[i] += fabs(sum[i]);
            }
        }
    }
    for (int i = 0; i < count; ++i) {
        const size_t to = first + (size_t)i;
        if (reference->arithmetic.takes_c) {
            reference_epilogue(operands->problem, position_of(reference, to), &sum[i],
                               &magnitude[i]);
        }
        reference->values[to] = sum[i];
        reference->magnitudes[to] = rounded_up(magnitude[i]);
        if (reference->partials != NULL) {
            reference->partials[to] = rounded_up(partials[i]);
        }
    }
}

static void compute_all(reference *reference, const operands *operands) {
    progress progress;
    progress_begin(&progress, "computing the reference");
    double products = 0;
    for (size_t i = 0; i < reference->count; i += TOGETHER) {
        const size_t left = reference->count - i;
        const int count = left < TOGETHER ? (int)left : TOGETHER;
        compute_some(reference, operands, i, count);
        products += (double)count * reference->k;
        if (products > PRODUCTS_BETWEEN_UPDATES) {
            progress_update(&progress, (double)i / (double)reference->count);
            products = 0;
        }
    }
    progress_end(&progress);
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
                         widened(format, problem->b, reference->n, reference->k)};
    const bool ready = operands.a != NULL && operands.b != NULL;
    if (ready) {
        compute_all(reference, &operands);
    }
    free(operands.a);
    free(operands.b);
    return ready ? 0 : 1;
}
