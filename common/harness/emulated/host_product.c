/* The second opinion on a machine without cuBLAS: fp32 sums, as the rungs have, in an order of its
 * own. */
#include <stdlib.h>

#include "harness/bf16.h"
#include "harness/message.h"
#include "harness/second_opinion.h"

const char second_opinion_name[] = "the host product";

/* Sums that are made side by side, of every LANES-th product. */
enum { LANES = 16 };

struct second_opinion {
    struct CUstream_st *stream;
};

second_opinion *second_opinion_open(struct CUstream_st *stream) {
    second_opinion *opinion = calloc(1, sizeof *opinion);
    if (opinion == NULL) {
        message("no memory for %s", second_opinion_name);
        return NULL;
    }
    opinion->stream = stream;
    return opinion;
}

void second_opinion_close(second_opinion *opinion) { free(opinion); }

static float dot_product(const bf16_bits *a, const bf16_bits *b, int k) {
    float sums[LANES] = {0};
    float sum = 0;
    int i = 0;
    for (; i + LANES <= k; i += LANES) {
        for (int lane = 0; lane < LANES; ++lane) {
            sums[lane] += bf16_to_float(a[i + lane]) * bf16_to_float(b[i + lane]);
        }
    }
    for (; i < k; ++i) {
        sum += bf16_to_float(a[i]) * bf16_to_float(b[i]);
    }
    for (int lane = 0; lane < LANES; ++lane) {
        sum += sums[lane];
    }
    return sum;
}

int second_opinion_launch(second_opinion *opinion, const problem *problem) {
    (void)opinion;
    const size_t n = (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    const bf16_bits *a = problem->a;
    const bf16_bits *b = problem->b;
    bf16_bits *d = problem->d;
    progress progress;
    progress_begin(&progress, "computing the host product");
    for (size_t row = 0; row < (size_t)problem->m; ++row) {
        for (size_t column = 0; column < n; ++column) {
            d[row * n + column] =
                bf16_from_float(dot_product(a + row * k, b + column * k, problem->k));
        }
        progress_update(&progress, (double)row / (double)problem->m);
    }
    progress_end(&progress);
    return 0;
}
