/* The expected output, in fp64 or word for word, computed on the GPU by kernels of our own, or
 * beside the emulator by plain loops. They share nothing with any rung. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/arithmetic.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reference {
    arithmetic arithmetic;
    int m, n, k;
    size_t rows, columns, count; /* of D, and its elements */
    expected *elements;          /* [count] in device memory; NULL where words are moved */
    uint32_t *words;             /* the same; NULL where there are elements */
} reference;

/* What alpha, beta and C make of a sum of products: its value and its sum of magnitudes. The BLAS
 * rule: what is multiplied by 0 is not read, even if it is NaN. position is C's element. */
HOST_DEVICE static inline void reference_epilogue(const problem *problem, size_t position,
                                                  double *value, double *magnitude) {
    const double alpha = (double)problem->alpha;
    const double beta = (double)problem->beta;
    *value = alpha == 0 ? 0 : alpha * *value;
    *magnitude = alpha == 0 ? 0 : fabs(alpha) * *magnitude;
    if (beta != 0) {
        const double scaled = beta * (double)((const float *)problem->c)[position];
        *value += scaled;
        *magnitude += fabs(scaled);
    }
}

/* The scale of A's element (row, j); 1 without scales. */
HOST_DEVICE static inline float scale_of_a(const arithmetic *arithmetic, const problem *problem,
                                           size_t row, size_t j) {
    const size_t at = arithmetic->block_scales ? j / SCALE_BLOCK * (size_t)problem->m + row : 0;
    return arithmetic->scaled ? problem->scale_a[at] : 1;
}

/* Of B's element (column, j). */
HOST_DEVICE static inline float scale_of_b(const arithmetic *arithmetic, const problem *problem,
                                           size_t column, size_t j) {
    const size_t row = column / SCALE_BLOCK * scale_columns(problem->k);
    const size_t at = arithmetic->block_scales ? row + j / SCALE_BLOCK : 0;
    return arithmetic->scaled ? problem->scale_b[at] : 1;
}

/* Of the product of both. */
HOST_DEVICE static inline float scale_of_both(const arithmetic *arithmetic, const problem *problem,
                                              size_t row, size_t column, size_t j) {
    return scale_of_a(arithmetic, problem, row, j) * scale_of_b(arithmetic, problem, column, j);
}

/* How much tensor cores cut off from one element's sums, wherever they are promoted.
 *
 * By e4m3.h's model a wgmma cuts off each of its 32 products, its addend and its sum by less than
 * u = 2^-13 of the largest of these terms, or of the power of two below it. The addend, and the
 * sum, is that of some neighbouring products, since the last promotion or since the part of a split
 * k began: it is the difference of two of the exact partial sums so far, and at most what these
 * span. So one bound holds for every interval of promotion and every split of k into parts, which
 * is all that is known of cuBLASLt's algorithms. Block scales begin anew with each block, since a
 * sum must end where its scale does.
 *
 * Addend and sum are cut towards zero, always: they lose up to 2u in each wgmma. A product has
 * either sign as often, so what products lose is a random walk, with a standard deviation of
 * sqrt(32 / 3 * sum of u^2) at most, of which ten are allowed. Adding up 32u, as if all had one
 * sign, would let zeros pass from k = 8192 on. What was lost before makes later sums differ from
 * the exact ones: by the last factor. */
typedef struct e4m3_cuts {
    double sum, low, high; /* exact: of the products so far, and the least and largest of these */
    double units, squares; /* of u, and of its square, times the scales */
    int wgmmas;
} e4m3_cuts;

/* Adds those of one wgmma. */
HOST_DEVICE static inline void e4m3_cuts_of_wgmma(e4m3_cuts *cuts, const e4m3_group *a,
                                                  const e4m3_group *b, double scale) {
    enum {
        SUMS = 4
    }; /* side by side, so that no addition waits for the last; exact in any order */
    int16_t exponent = 2 * E4M3_ZERO;
    double sums[SUMS] = {0, 0, 0, 0};
    for (int j = 0; j < E4M3_K; ++j) {
        const int16_t of_product = (int16_t)(a->exponent[j] + b->exponent[j]);
        exponent = of_product > exponent ? of_product : exponent;
    }
    for (int j = 0; j < E4M3_K; j += SUMS) {
        for (int i = 0; i < SUMS; ++i) {
            sums[i] += (double)(a->value[j + i] * b->value[j + i]);
        }
    }
    cuts->sum += sums[0] + sums[1] + sums[2] + sums[3];
    cuts->low = fmin(cuts->low, cuts->sum);
    cuts->high = fmax(cuts->high, cuts->sum);
    const double unit = fmax(e4m3_power_of_2(exponent), cuts->high - cuts->low) * 0x1p-13 * scale;
    cuts->units += unit;
    cuts->squares += unit * unit;
    ++cuts->wgmmas;
}

/* Of these sums of units and of their squares. */
HOST_DEVICE static inline double e4m3_cut(double units, double squares) {
    const double products = E4M3_K;
    return 2 * units + fmin(products * units, 6 * sqrt(products * squares));
}

/* Of all wgmmas. */
HOST_DEVICE static inline double e4m3_cuts_in_all(const e4m3_cuts *cuts) {
    const double relative = e4m3_cut(cuts->wgmmas, cuts->wgmmas) * 0x1p-13;
    return e4m3_cut(cuts->units, cuts->squares) * (1 + relative);
}

/* Reads elements i to i + 31 of a row of k elements of e4m3; zeros past its end, with which TMA
 * fills a tile. Returns `group`. */
HOST_DEVICE static inline const e4m3_group *reference_group(e4m3_group *group, const void *row,
                                                            size_t i, size_t k) {
    enum { WIDE = 16 }; /* bytes of the widest load */
    const uint8_t *from = (const uint8_t *)row + i;
    uint8_t bits[E4M3_K];
    if (k % WIDE == 0 && i + E4M3_K <= k) {
        memcpy(bits, __builtin_assume_aligned(from, WIDE), sizeof bits);
    } else {
        for (size_t j = 0; j < E4M3_K; ++j) {
            bits[j] = i + j < k ? from[j] : 0;
        }
    }
    e4m3_read(group, bits);
    return group;
}

/* Element `position` of GEMM_FP8 as tensor cores make it that add as e4m3.h says, not rounded to
 * bf16 yet. *cut: how much they may cut off from it. groups_a, groups_b: those of its row and
 * its column; NULL: not decoded yet. */
HOST_DEVICE static inline float reference_modelled(const arithmetic *arithmetic,
                                                   const problem *problem, size_t position,
                                                   const e4m3_group *groups_a,
                                                   const e4m3_group *groups_b, double *cut) {
    const size_t row = position / (size_t)problem->n;
    const size_t column = position % (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    const size_t interval = arithmetic->promotion > 0 ? (size_t)arithmetic->promotion : k;
    const uint8_t *a = (const uint8_t *)problem->a + row * k;
    const uint8_t *b = (const uint8_t *)problem->b + column * k;
    e4m3_cuts cuts = {0, 0, 0, 0, 0, 0};
    e4m3_group read_a, read_b;
    float sum = 0;
    for (size_t first = 0; first < k; first += interval) {
        const float scale = scale_of_both(arithmetic, problem, row, column, first);
        float part = 0;
        if (arithmetic->block_scales) {
            cuts.sum = cuts.low = cuts.high = 0;
        }
        for (size_t i = first; i < first + interval && i < k; i += E4M3_K) {
            const e4m3_group *of_a =
                groups_a == NULL ? reference_group(&read_a, a, i, k) : &groups_a[i / E4M3_K];
            const e4m3_group *of_b =
                groups_b == NULL ? reference_group(&read_b, b, i, k) : &groups_b[i / E4M3_K];
            e4m3_cuts_of_wgmma(&cuts, of_a, of_b, (double)scale);
            part = e4m3_multiply_add(of_a, of_b, part);
        }
        sum = arithmetic->block_scales ? fmaf(part, scale, sum) : sum + part;
    }
    *cut = e4m3_cuts_in_all(&cuts);
    return arithmetic->block_scales ? sum
                                    : sum * scale_of_both(arithmetic, problem, row, column, 0);
}

/* The word that belongs at `position` of D, where the device's memory can be read: the definition
 * of what the computations that move words do. */
HOST_DEVICE static inline uint32_t reference_word(const reference *reference,
                                                  const problem *problem, size_t position) {
    const uint32_t *a = (const uint32_t *)problem->a;
    if (!reference->arithmetic.transposes) {
        return a[position] + 1;
    }
    const size_t row = position / reference->columns;
    const size_t column = position % reference->columns;
    return a[column * reference->rows + row]; /* A has as many columns as D has rows */
}

/* Bytes of device memory that a reference takes. */
double reference_bytes(const arithmetic *arithmetic, int m, int n);

/* The memory for the reference of D. */
reference reference_create(const arithmetic *arithmetic, int m, int n, int k);
void reference_destroy(const reference *reference);

/* Computes it from the problem's operands in device memory; returns when it is done. */
void reference_compute(const reference *reference, const problem *problem,
                       struct CUstream_st *stream);

/* ---- the second opinion: another implementation of the computation, which has to pass the same
 * checks, and whose time the rung's is compared with. On a GPU it is cuBLAS if that has the
 * computation, and for computations that move words also a plain copy; on the emulator, a plain
 * loop on the host. */

typedef struct second_opinion second_opinion;

/* Starts what computes as the contender of that role does (not CONTENDER_STEP). */
second_opinion *second_opinion_open(const step *step, int contender, struct CUstream_st *stream);
/* Whether it can compute the problem at all. cuBLASLt has no block scales for some shapes. */
bool second_opinion_takes(second_opinion *opinion, const problem *problem);
void second_opinion_close(second_opinion *opinion);

/* Starts the computation, into problem->d, on the stream it was opened with. */
void second_opinion_launch(second_opinion *opinion, const problem *problem);

#ifdef __cplusplus
}
#endif
