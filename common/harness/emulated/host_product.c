/* The second opinion on a machine without cuBLAS: of products fp32 sums, as the rungs have, in an
 * order of its own. */
#include <stdlib.h>
#include <string.h>

#include "harness/arithmetic.h"
#include "harness/emulated/widened.h"
#include "harness/message.h"
#include "harness/second_opinion.h"

/* Sums that are made side by side, of every TOGETHER-th product, in vectors of 16 bytes, which
 * every processor has: the compiler keeps those in registers if it is told to unroll the loops over
 * them.
 */
enum { LANES = 4, VECTORS = 4, TOGETHER = LANES * VECTORS };
typedef float numbers __attribute__((vector_size(LANES * sizeof(float))));

struct second_opinion {
    enum computation computes;
    arithmetic arithmetic;
};

const char *second_opinion_name(enum computation computes, int contender) {
    return contender == CONTENDER_OTHER ? arithmetic_of(&(step){.computes = computes}).family->host
                                        : NULL;
}

second_opinion *second_opinion_open(enum computation computes, int contender,
                                    struct CUstream_st *stream) {
    (void)stream; /* nothing runs beside the host here */
    second_opinion *opinion = calloc(1, sizeof *opinion);
    if (opinion == NULL) {
        message("no memory for %s", second_opinion_name(computes, contender));
        return NULL;
    }
    opinion->computes = computes;
    opinion->arithmetic = arithmetic_of(&(step){.computes = computes});
    return opinion;
}

void second_opinion_close(second_opinion *opinion) { free(opinion); }

static float dot_product(const float *a, const float *b, int k) {
    numbers sums[VECTORS] = {0};
    float sum = 0;
    int i = 0;
    for (; i + TOGETHER <= k; i += TOGETHER) {
#pragma GCC unroll VECTORS
        for (int vector = 0; vector < VECTORS; ++vector) {
            numbers left, right; /* a row begins anywhere: not at the address of a vector */
            memcpy(&left, a + i + vector * LANES, sizeof left);
            memcpy(&right, b + i + vector * LANES, sizeof right);
            sums[vector] += left * right;
        }
    }
    for (; i < k; ++i) {
        sum += a[i] * b[i];
    }
    for (int lane = 0; lane < TOGETHER; ++lane) {
        sum += sums[lane / LANES][lane % LANES];
    }
    return sum;
}

/* What becomes of a sum of products; position is that of the element in C and D. What is multiplied
 * by 0 is not looked at. */
static float with_c(const problem *problem, size_t position, float sum) {
    const float scaled = problem->alpha == 0 ? 0 : problem->alpha * sum;
    return problem->beta == 0 ? scaled
                              : scaled + problem->beta * ((const float *)problem->c)[position];
}

static void multiply(const arithmetic *arithmetic, const problem *problem, const float *a,
                     const float *b) {
    const size_t n = (size_t)problem->n;
    const size_t k = (size_t)problem->k;
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
    progress_end(&progress);
}

/* Reads A from its first word to its last: the reference goes over D. */
static void host_moves(enum computation computes, const problem *problem) {
    const size_t m = (size_t)problem->m;
    const size_t n = (size_t)problem->n;
    const uint32_t *a = problem->a;
    uint32_t *d = problem->d;
    for (size_t row = 0; row < m; ++row) {
        for (size_t column = 0; column < n; ++column) {
            const uint32_t word = *a++;
            if (computes == TRANSPOSE_FP32) {
                d[column * m + row] = word;
            } else {
                d[row * n + column] = word + 1;
            }
        }
    }
}

int second_opinion_launch(second_opinion *opinion, const problem *problem) {
    const arithmetic *arithmetic = &opinion->arithmetic;
    if (arithmetic->moves) {
        host_moves(opinion->computes, problem);
        return 0;
    }
    float *a = widened(arithmetic->operands, problem->a, problem->m, problem->k);
    float *b = widened(arithmetic->operands, problem->b, problem->n, problem->k);
    const bool ready = a != NULL && b != NULL;
    if (ready) {
        multiply(arithmetic, problem, a, b);
    }
    free(a);
    free(b);
    return ready ? 0 : 1;
}
