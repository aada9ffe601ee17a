#include "harness/arithmetic.h"

#include <math.h>
#include <stdio.h>

static const arithmetic ARITHMETICS[] = {
    [GEMM_BF16] = {"gemm_bf16", "bf16 in and out", NUMBER_BF16, NUMBER_BF16},
    [GEMM_FP16] = {"gemm_fp16", "fp16 in and out", NUMBER_FP16, NUMBER_FP16, .fp16_sums = true},
    [ADDMM_FP16] = {"addmm_fp16", "A and B fp16, C and D fp32", NUMBER_FP16, NUMBER_FP32,
                    .takes_c = true},
    [ADD_ONE_INT32] = {"add_one_int32", "int32, one added to each", NUMBER_INT32, NUMBER_INT32,
                       .moves = true},
    [TRANSPOSE_FP32] = {"transpose_fp32", "fp32, transposed", NUMBER_FP32, NUMBER_FP32,
                        .moves = true, .transposes = true},
    [GEMM_FP8] = {"gemm_fp8", "e4m3 in, bf16 out", NUMBER_E4M3, NUMBER_BF16, .scaled = true},
};

arithmetic arithmetic_of(const step *step) {
    const bool known = (size_t)step->computes < sizeof ARITHMETICS / sizeof *ARITHMETICS;
    arithmetic result = ARITHMETICS[known ? step->computes : 0]; /* the first has no name */
    result.fp16_sums = result.fp16_sums && step->fp16_sums;
    result.block_scales = result.scaled && step->block_scales;
    result.promotion = result.scaled ? step->promotion : 0;
    return result;
}

double arithmetic_work(const arithmetic *arithmetic, int m, int n, int k) {
    const size_t bytes = number_bytes(arithmetic->operands) + number_bytes(arithmetic->output);
    return (double)m * (double)n * (arithmetic->moves ? (double)bytes : 2.0 * k);
}

/* |value| in sixteenths, or -1 if it is no whole number of them, or more than 16. */
static int sixteenths(float value) {
    const float parts = fabsf(value) * 16;
    return parts <= 16 * 16 && parts == floorf(parts) ? (int)parts : -1;
}

integers arithmetic_integers(const arithmetic *arithmetic, int64_t k, float alpha, float beta) {
    integers integers = {.exact = true, .range = LARGEST_INTEGER};
    /* Of the sum of |a||b|: the whole numbers that fp16 or e4m3's sums hold without a gap, fp16's
     * largest number, or those that fp32 holds. */
    int64_t limit = arithmetic->fp16_sums               ? 2048
                    : arithmetic->scaled                ? E4M3_INTEGERS
                    : arithmetic->output == NUMBER_FP16 ? 65504
                                                        : 1 << 24;
    if (arithmetic->takes_c) {
        const int of_alpha = sixteenths(alpha);
        const int of_beta = sixteenths(beta);
        integers.exact = of_alpha >= 0 && of_beta >= 0;
        limit = (limit - of_beta * LARGEST_INTEGER) / (of_alpha > 0 ? of_alpha : 1);
    }
    while (integers.range > 1 && k > limit / (integers.range * integers.range)) {
        --integers.range;
    }
    integers.spacing = (int)(1 + (k - 1) / limit);
    return integers;
}

/* ---- which shapes it takes */

/* Rows are multiples of 16 bytes, which is what the wide copies of a rung need unless it says
 * any_row. Those of A and B are k elements long, those of C and D n; without k those of A n, and
 * those of D too or, if it is A transposed, m. */
enum { ROW_BYTES = 16 };

/* The smallest multiple of what the step wants, of elements of this size; 0: they make no row. */
static int whole_rows(const step *step, int wanted, size_t bytes) {
    const int multiple = wanted < 1 ? 1 : wanted;
    int elements = multiple;
    while (!step->any_row && (size_t)elements * bytes % ROW_BYTES != 0) {
        elements += multiple;
    }
    return elements;
}

/* Of m, n and k; the last is 0 if there is none. */
typedef struct multiples {
    int of[3];
} multiples;

static multiples required_multiples(const step *step) {
    const arithmetic is = arithmetic_of(step);
    const size_t bytes = number_bytes(is.output);
    return (multiples){
        {whole_rows(step, step->multiple.m, is.transposes ? bytes : 0),
         whole_rows(step, step->multiple.n, bytes),
         is.moves ? 0 : whole_rows(step, step->multiple.k, number_bytes(is.operands))}};
}

void shape_rule(const step *step, char *text, size_t size) {
    const multiples rule = required_multiples(step);
    char largest[24] = "";
    char k[96] = "since TMA copies rows of whole 16 bytes";
    if (step->largest_k > 0) {
        snprintf(largest, sizeof largest, " up to %d", step->largest_k);
    }
    if (rule.of[2] > 0) {
        snprintf(k, sizeof k, "k: multiples of %d%s", rule.of[2], largest);
    }
    snprintf(text, size, "m: multiples of %d, n: multiples of %d, %s", rule.of[0], rule.of[1], k);
}

int shape_check(const step *step, int m, int n, int k, char *error, size_t size) {
    const multiples rule = required_multiples(step);
    const int values[] = {m, n, k};
    char text[SHAPE_RULE_SIZE];
    for (int i = 0; i < (rule.of[2] > 0 ? 3 : 2); ++i) {
        const int largest = i == 2 && step->largest_k > 0 ? step->largest_k : LARGEST_DIMENSION;
        if (values[i] < 1 || values[i] > largest) {
            snprintf(error, size, "%c=%d: must be from 1 to %d", "mnk"[i], values[i], largest);
            return 1;
        }
        if (values[i] % rule.of[i] != 0) {
            shape_rule(step, text, sizeof text);
            snprintf(error, size, "%c=%d is not a multiple of %d (%s takes %s)", "mnk"[i],
                     values[i], rule.of[i], step->name, text);
            return 1;
        }
    }
    if ((long long)m * n > LARGEST_OUTPUT) {
        snprintf(error, size, "m=%d n=%d: D may have at most %lld elements", m, n, LARGEST_OUTPUT);
        return 1;
    }
    return 0;
}

void shape_round_up(const step *step, int *m, int *n, int *k) {
    const multiples rule = required_multiples(step);
    int *const dimensions[] = {m, n, k};
    for (int i = 0; i < 3; ++i) {
        const int multiple = rule.of[i] > 0 ? rule.of[i] : 1;
        *dimensions[i] = (*dimensions[i] + multiple - 1) / multiple * multiple;
    }
}
