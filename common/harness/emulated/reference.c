/* The reference by its definition, in fp64. */
#include "harness/reference.h"

#include <math.h>

#include "harness/message.h"

/* Elements whose sums are made side by side, so that one does not wait for the other's additions.
 */
enum { TOGETHER = 4 };

/* Values are only drawn between rows of this many products, as far as progress goes. */
static const double PRODUCTS_BETWEEN_UPDATES = 1e6;

/* `count` elements, at most TOGETHER: row i of a against row i of b. */
static void dot_products(const bf16_bits *const *a, const bf16_bits *const *b, int count, int k,
                         double *values, float *magnitudes) {
    double sum[TOGETHER] = {0};
    double magnitude[TOGETHER] = {0};
    for (int j = 0; j < k; ++j) {
        for (int i = 0; i < count; ++i) {
            const double product = (double)bf16_to_float(a[i][j]) * (double)bf16_to_float(b[i][j]);
            sum[i] += product;
            magnitude[i] += fabs(product);
        }
    }
    for (int i = 0; i < count; ++i) {
        values[i] = sum[i];
        magnitudes[i] = nextafterf((float)magnitude[i], INFINITY); /* rounded up */
    }
}

/* The elements from `first` on, at most TOGETHER of them; returns how many. */
static int compute_some(reference *reference, const bf16_bits *a, const bf16_bits *b,
                        size_t first) {
    const bf16_bits *rows[TOGETHER];
    const bf16_bits *columns[TOGETHER];
    const size_t n = (size_t)reference->n;
    const size_t k = (size_t)reference->k;
    int count = 0;
    while (count < TOGETHER && first + (size_t)count < reference->count) {
        const size_t i = first + (size_t)count;
        const size_t position = reference->positions == NULL ? i : (size_t)reference->positions[i];
        rows[count] = a + position / n * k;
        columns[count] = b + position % n * k;
        ++count;
    }
    dot_products(rows, columns, count, reference->k, reference->values + first,
                 reference->magnitudes + first);
    return count;
}

int reference_compute(reference *reference, const bf16_bits *a, const bf16_bits *b,
                      struct CUstream_st *stream) {
    (void)stream; /* nothing runs beside the host here */
    progress progress;
    progress_begin(&progress, "computing the reference");
    double products = 0;
    for (size_t i = 0; i < reference->count;) {
        const int count = compute_some(reference, a, b, i);
        i += (size_t)count;
        products += (double)count * reference->k;
        if (products > PRODUCTS_BETWEEN_UPDATES) {
            progress_update(&progress, (double)i / (double)reference->count);
            products = 0;
        }
    }
    progress_end(&progress);
    return 0;
}
