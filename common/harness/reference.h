/* The expected output, in fp64 or word for word, computed on the GPU by kernels of our own, or
 * beside the emulator by plain loops; and second opinions. They share nothing with any rung. */
#pragma once

#include "harness/arithmetic.h"
#include "harness/operands.h"
#include "step.h"

/* fp16 sums are rounded to fp16 once per this many products, or less often: tensor cores add up
 * those of one instruction (sm_80: of half of it) in a wider format. */
enum { FP16_SUM_GROUP = 8 };

/* One element of the reference. */
typedef struct expected {
    double value;    /* the exact result */
    float magnitude; /* the sum of all |a||b|; with C: times |alpha|, and |beta||c| added */
    float partials;  /* the sum of |partial sum| after every FP16_SUM_GROUP products, in the order
                      * of k; unused with fp32 sums. Of e4m3 how much tensor cores may cut off */
    float modelled;  /* of e4m3: what tensor cores give that add as e4m3.h says */
} expected;

/* Of D; the memory is the device's. */
typedef struct reference {
    arithmetic arithmetic;
    int k;
    size_t columns, count; /* of D, and its elements */
    expected *elements;    /* [count]; NULL where words are moved */
    uint32_t *words;       /* the same; NULL where there are elements */
} reference;

/* Columns of B's block scales. */
HOST_DEVICE static inline size_t scale_columns(int k) {
    return ((size_t)k + 4 * SCALE_BLOCK - 1) / (4 * SCALE_BLOCK) * 4;
}

/* How many scales A has, or B, of that many rows. */
HOST_DEVICE static inline size_t scale_count(const arithmetic *arithmetic, bool is_b, int rows,
                                             int k) {
    const size_t of_k = ((size_t)k + SCALE_BLOCK - 1) / SCALE_BLOCK;
    const size_t of_rows = ((size_t)rows + SCALE_BLOCK - 1) / SCALE_BLOCK;
    return !arithmetic->scaled         ? 0
           : !arithmetic->block_scales ? 1
           : is_b                      ? of_rows * scale_columns(k)
                                       : of_k * (size_t)rows;
}

/* The scale of element (row, j) of A, or of B; 1 without scales. */
HOST_DEVICE static inline float scale_of(const arithmetic *arithmetic, const problem *problem,
                                         bool is_b, size_t row, size_t j) {
    const float *scales = is_b ? problem->scale_b : problem->scale_a;
    const size_t block = j / SCALE_BLOCK;
    return !arithmetic->scaled         ? 1
           : !arithmetic->block_scales ? scales[0]
           : is_b ? scales[row / SCALE_BLOCK * scale_columns(problem->k) + block]
                  : scales[block * (size_t)problem->m + row];
}

/* Element (row, j) of A, or of B, times its scale, which is exact. */
HOST_DEVICE static inline double scaled_element(const arithmetic *arithmetic,
                                                const problem *problem, bool is_b, size_t row,
                                                size_t j) {
    const size_t index = row * (size_t)problem->k + j;
    return (double)number_read(arithmetic->operands, is_b ? problem->b : problem->a, index) *
           (double)scale_of(arithmetic, problem, is_b, row, j);
}

/* Of an element: of its products, their magnitudes and the magnitudes of partial sums. */
typedef struct sums {
    double value, magnitude, partials;
} sums;

/* What alpha, beta and C make of an element. The BLAS rule: what is multiplied by 0 is not read,
 * even if it is NaN. */
HOST_DEVICE static inline expected
reference_epilogue(const arithmetic *arithmetic, const problem *problem, size_t position, sums of) {
    const double alpha = arithmetic->takes_c ? (double)problem->alpha : 1;
    const double beta = arithmetic->takes_c ? (double)problem->beta : 0;
    of.value = alpha == 0 ? 0 : alpha * of.value;
    of.magnitude = alpha == 0 ? 0 : fabs(alpha) * of.magnitude;
    if (beta != 0) {
        const double scaled = beta * (double)((const float *)problem->c)[position];
        of.value += scaled;
        of.magnitude += fabs(scaled);
    }
    const expected result = {of.value, nextafterf((float)of.magnitude, HUGE_VALF),
                             nextafterf((float)of.partials, HUGE_VALF), 0};
    return result;
}

/* How much tensor cores cut off from one element's sums, wherever they are promoted.
 *
 * By e4m3.h's model a wgmma cuts off each of its 32 products, its addend and its sum by less than
 * u = 2^-13 of the largest of these terms, or of the power of two below it. Addend and sum are
 * sums of neighbouring products, since the last promotion or since the part of a split k began: at
 * most what the exact partial sums so far span. So one bound holds for every interval of promotion
 * and every split of k, which is all that is known of cuBLASLt's algorithms. Block scales begin
 * anew with each block, since a sum must end where its scale does.
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
    double sums[4] = {0}; /* side by side: no addition waits for the last; exact in any order */
    int16_t exponent = 2 * E4M3_ZERO;
    for (int j = 0; j < E4M3_K; ++j) {
        const int16_t of_product = (int16_t)(a->exponent[j] + b->exponent[j]);
        exponent = of_product > exponent ? of_product : exponent;
    }
    for (int j = 0; j < E4M3_K; j += 4) {
        for (int i = 0; i < 4; ++i) {
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

/* Reads elements i to i + 31 of a row of k elements of e4m3; zeros past its end, with which TMA
 * fills a tile. Returns `group`. */
HOST_DEVICE static inline const e4m3_group *reference_group(e4m3_group *group, const void *row,
                                                            size_t i, size_t k) {
    uint8_t bits[E4M3_K];
    for (size_t j = 0; j < E4M3_K; ++j) {
        bits[j] = i + j < k ? ((const uint8_t *)row)[i + j] : 0;
    }
    e4m3_read(group, bits);
    return group;
}

/* Adds to element `position` of GEMM_FP8 what tensor cores make it that add as e4m3.h says, not
 * rounded to bf16 yet, and how much they may cut off from it. groups_a, groups_b: those of its row
 * and its column; NULL: not decoded yet. */
HOST_DEVICE static inline void reference_model(const arithmetic *arithmetic, const problem *problem,
                                               size_t position, const e4m3_group *groups_a,
                                               const e4m3_group *groups_b, expected *element) {
    const size_t row = position / (size_t)problem->n;
    const size_t column = position % (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    const size_t interval = arithmetic->promotion > 0 ? (size_t)arithmetic->promotion : k;
    const uint8_t *a = (const uint8_t *)problem->a + row * k;
    const uint8_t *b = (const uint8_t *)problem->b + column * k;
    e4m3_cuts cuts = {0, 0, 0, 0, 0, 0};
    e4m3_group read_a, read_b;
    float sum = 0;
    float factor = 1; /* of the sum, where all elements have one scale */
    for (size_t first = 0; first < k; first += interval) {
        const float scale = scale_of(arithmetic, problem, false, row, first) *
                            scale_of(arithmetic, problem, true, column, first);
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
        factor = arithmetic->block_scales ? 1 : scale;
    }
    const double cut = e4m3_cut(cuts.units, cuts.squares);
    const double relative = e4m3_cut(cuts.wgmmas, cuts.wgmmas) * 0x1p-13;
    element->modelled = sum * factor;
    element->partials = nextafterf((float)(cut * (1 + relative)), HUGE_VALF);
}

/* The word that belongs at `position` of D: what the computations that move words do. */
HOST_DEVICE static inline uint32_t reference_word(const arithmetic *arithmetic,
                                                  const problem *problem, size_t position) {
    const size_t m = (size_t)problem->m; /* columns of D if it is A transposed */
    const size_t from = position % m * (size_t)problem->n + position / m;
    const uint32_t *a = (const uint32_t *)problem->a;
    return arithmetic->transposes ? a[from] : a[position] + 1;
}

/* Its memory. */
size_t reference_bytes(const arithmetic *arithmetic, int m, int n);
reference reference_create(const arithmetic *arithmetic, int m, int n, int k);
void reference_destroy(const reference *reference);

/* ---- second opinions: other implementations of the computation, which have to pass the same
 * checks, and whose time the rung's is compared with. On a GPU it is cuBLAS if that has the
 * computation; on the emulator, a plain loop on the host. */

/* What a contender of a run is: the step, also with early launches and by the kernel that
 * the quick tuner picks, and the fastest of those that it chooses from; its second opinion; cuBLAS
 * with the sums that fp16 or FP8 may have; a plain copy of A; the first of cuBLASLt's algorithms,
 * and the fastest. */
enum contender_role {
    CONTENDER_STEP,
    CONTENDER_EARLY,
    CONTENDER_TUNED,
    CONTENDER_BEST,
    CONTENDER_OTHER,
    CONTENDER_NARROW_SUMS,
    CONTENDER_COPY,
    CONTENDER_FIRST,
    CONTENDER_HEURISTIC
};

/* Whether this contender is the step itself. */
static inline bool is_step(enum contender_role role) { return role <= CONTENDER_BEST; }

typedef struct second_opinion second_opinion;

/* Starts what computes as the contender of that role does, for problems like this one on its
 * stream; NULL if there is none: cuBLASLt has no block scales for some shapes. */
second_opinion *second_opinion_open(const step *step, enum contender_role role,
                                    const problem *problem);
void second_opinion_close(second_opinion *opinion);

/* Starts the computation, into problem->d. */
void second_opinion_launch(second_opinion *opinion, const problem *problem);
