#include "harness/arithmetic.h"

#include <math.h>
#include <stdio.h>

/* Whole numbers that a format holds without a gap, and fp16's largest finite number. */
enum { FP16_INTEGERS = 2048, FP16_LARGEST = 65504 };

/* In the exact check alpha and beta are multiples of 1 / PARTS_OF_ONE, at most MOST_PARTS of them.
 * */
enum { PARTS_OF_ONE = 16, MOST_PARTS = 256 };

enum { C_RANGE = 4 };

static const rival OF_PRODUCTS[] = {
    {CONTENDER_OTHER, "cuBLAS", "cublas", "cuBLAS"},
    {CONTENDER_NARROW_SUMS, "cuBLAS 16", "cublas_fp16_sums", "cuBLAS with fp16 sums"},
    {CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt", "cuBLASLt's best"},
    {.title = NULL}};
/* Of FP8 those that cuBLASLt's modes are. */
static const rival OF_FP8[] = {
    {CONTENDER_OTHER, "accurate", "cublaslt_accurate", "cuBLASLt (accurate)"},
    {CONTENDER_NARROW_SUMS, "fast", "cublaslt_fast", "cuBLASLt (fast)"},
    {CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt", "cuBLASLt's best"},
    {.title = NULL}};
static const rival OF_BLOCK_SCALES[] = {
    {CONTENDER_OTHER, "blocks", "cublaslt_block_scales", "cuBLASLt (block scales)"},
    {CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt", "cuBLASLt's best"},
    {.title = NULL}};
static const rival OF_TRANSPOSES[] = {{CONTENDER_COPY, "copy", "device_copy", "the device copy"},
                                      {CONTENDER_OTHER, "second", "second_opinion", "cublasSgeam"},
                                      {.title = NULL}};
static const rival OF_MOVES[] = {{CONTENDER_COPY, "copy", "device_copy", "the device copy"},
                                 {CONTENDER_OTHER, "second", "second_opinion", "a plain kernel"},
                                 {.title = NULL}};

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
    if ((size_t)step->computes >= sizeof ARITHMETICS / sizeof *ARITHMETICS) {
        return ARITHMETICS[0]; /* of no computation: it has no name */
    }
    arithmetic result = ARITHMETICS[step->computes];
    result.fp16_sums = result.fp16_sums && step->fp16_sums;
    result.block_scales = result.scaled && step->block_scales;
    result.promotion = result.scaled ? step->promotion : 0;
    result.rivals = result.block_scales ? OF_BLOCK_SCALES
                    : result.scaled     ? OF_FP8
                    : result.transposes ? OF_TRANSPOSES
                    : result.moves      ? OF_MOVES
                                        : OF_PRODUCTS;
    return result;
}

double arithmetic_work(const arithmetic *arithmetic, int m, int n, int k) {
    const double elements = (double)m * (double)n;
    return arithmetic->moves ? elements * (double)(number_bytes(arithmetic->operands) +
                                                   number_bytes(arithmetic->output))
                             : 2 * elements * (double)k;
}

enum inputs arithmetic_exact_inputs(const arithmetic *arithmetic) {
    return arithmetic->moves ? INPUTS_BITS : INPUTS_INTEGERS;
}

enum check_kind arithmetic_check(const arithmetic *arithmetic, bool on_exact_inputs) {
    return arithmetic->moves ? CHECK_WORDS : on_exact_inputs ? CHECK_EXACT : CHECK_BOUNDED;
}

size_t arithmetic_scales_of_a(const arithmetic *arithmetic, int m, int k) {
    const size_t blocks = ((size_t)k + SCALE_BLOCK - 1) / SCALE_BLOCK;
    return !arithmetic->scaled ? 0 : arithmetic->block_scales ? blocks * (size_t)m : 1;
}

size_t arithmetic_scales_of_b(const arithmetic *arithmetic, int n, int k) {
    const size_t blocks = ((size_t)n + SCALE_BLOCK - 1) / SCALE_BLOCK;
    return !arithmetic->scaled ? 0 : arithmetic->block_scales ? blocks * scale_columns(k) : 1;
}

rounding arithmetic_rounding(const arithmetic *arithmetic, int k, bool own) {
    /* alpha's product with the sum, beta's with c, and the sum of the two. */
    enum { ROUNDINGS_WITH_C = 3 };
    const bool fp16_sums = own && arithmetic->fp16_sums;
    if (arithmetic->scaled) { /* a sum of each wgmma, and the products with scales */
        return (rounding){arithmetic->output, (k + E4M3_K - 1) / E4M3_K + 2, 0, true, own};
    }
    return (rounding){arithmetic->output, (double)k + (arithmetic->takes_c ? ROUNDINGS_WITH_C : 0),
                      fp16_sums ? (k + FP16_SUM_GROUP - 1) / FP16_SUM_GROUP : 0, false, false};
}

/* |value| in sixteenths, or -1 if it is no whole number of them, or too many. */
static int parts_of(float value) {
    const float parts = fabsf(value) * PARTS_OF_ONE;
    return parts <= MOST_PARTS && parts == floorf(parts) ? (int)parts : -1;
}

integers arithmetic_integers(const arithmetic *arithmetic, int64_t k, float alpha, float beta) {
    integers integers = {.exact = true, .c_range = C_RANGE};
    int64_t limit = EXACT_INTEGER_LIMIT;
    if (arithmetic->takes_c) {
        const int alpha_parts = parts_of(alpha);
        const int beta_parts = parts_of(beta);
        integers.exact = alpha_parts >= 0 && beta_parts >= 0;
        const int64_t c_parts = (int64_t)(integers.exact ? beta_parts : 0) * integers.c_range;
        const int64_t parts = integers.exact && alpha_parts > 0 ? alpha_parts : 1;
        limit = (limit - c_parts) / parts;
    } else if (arithmetic->fp16_sums) {
        limit = FP16_INTEGERS;
    } else if (arithmetic->scaled) {
        limit = E4M3_INTEGERS;
    } else if (arithmetic->output == NUMBER_FP16) {
        limit = FP16_LARGEST;
    }
    const int range = random_integer_range(k, limit);
    integers.range = range > 0 ? range : 1;
    integers.spacing = range > 0 ? 1 : (int)((k + limit - 1) / limit);
    return integers;
}

/* ---- which shapes it takes */

/* Rows of A and B are k elements long, rows of C and D are n: multiples of 16 bytes, which is what
 * the wide copies of a rung need unless it says any_row. Without k, rows of A are n elements long,
 * which have the format of D's, and those of D too or, if it is A transposed, m. */
enum { ROW_BYTES = 16 };

typedef struct multiples {
    int m, n, k; /* k is 0 if there is none */
} multiples;

/* The smallest multiple of what the step wants that makes rows which it takes. */
static int whole_rows(const step *step, int wanted, enum number format) {
    const int multiple = wanted < 1 ? 1 : wanted;
    int elements = multiple;
    while (!step->any_row && elements * (int)number_bytes(format) % ROW_BYTES != 0) {
        elements += multiple;
    }
    return elements;
}

static multiples required_multiples(const step *step) {
    const arithmetic is = arithmetic_of(step);
    const int m = step->multiple_m < 1 ? 1 : step->multiple_m;
    return (multiples){is.transposes ? whole_rows(step, m, is.output) : m,
                       whole_rows(step, step->multiple_n, is.output),
                       is.moves ? 0 : whole_rows(step, step->multiple_k, is.operands)};
}

void shape_rule(const step *step, char *text, size_t size) {
    const multiples rule = required_multiples(step);
    char k[96];
    char largest[24] = "";
    if (step->largest_k > 0) {
        snprintf(largest, sizeof largest, " up to %d", step->largest_k);
    }
    if (rule.k > 0) {
        snprintf(k, sizeof k, "k: multiples of %d%s", rule.k, largest);
    } else {
        snprintf(k, sizeof k,
                 "since TMA copies rows of whole 16 bytes and rows of A have n elements%s",
                 arithmetic_of(step).transposes ? ", rows of D m" : "");
    }
    snprintf(text, size, "m: multiples of %d, n: multiples of %d, %s", rule.m, rule.n, k);
}

int shape_check(const step *step, int m, int n, int k, char *error, size_t size) {
    const multiples rule = required_multiples(step);
    const int largest_k = step->largest_k > 0 ? step->largest_k : LARGEST_DIMENSION;
    const struct {
        char name;
        int value, multiple, largest;
    } dimensions[] = {{'m', m, rule.m, LARGEST_DIMENSION},
                      {'n', n, rule.n, LARGEST_DIMENSION},
                      {'k', k, rule.k, largest_k}};
    for (int i = 0; i < (rule.k > 0 ? 3 : 2); ++i) {
        const char name = dimensions[i].name;
        const int value = dimensions[i].value;
        if (value < 1 || value > dimensions[i].largest) {
            snprintf(error, size, "%c=%d: must be from 1 to %d", name, value,
                     dimensions[i].largest);
            return 1;
        }
        if (value % dimensions[i].multiple != 0) {
            char text[SHAPE_RULE_SIZE];
            shape_rule(step, text, sizeof text);
            snprintf(error, size, "%c=%d is not a multiple of %d (%s takes %s)", name, value,
                     dimensions[i].multiple, step->name, text);
            return 1;
        }
    }
    if ((long long)m * n > LARGEST_OUTPUT) {
        snprintf(error, size, "m=%d n=%d: D may have at most %lld elements", m, n, LARGEST_OUTPUT);
        return 1;
    }
    if (step->computes == GEMM_BF16 && random_integer_range(k, EXACT_INTEGER_LIMIT) == 0) {
        snprintf(error, size,
                 "k=%d is more than %d: the sums of the exact check would not fit in fp32", k,
                 EXACT_INTEGER_LIMIT);
        return 1;
    }
    return 0;
}

static int rounded_up(int value, int multiple) {
    return multiple == 0 ? value : (value + multiple - 1) / multiple * multiple;
}

void shape_round_up(const step *step, int *m, int *n, int *k) {
    const multiples rule = required_multiples(step);
    *m = rounded_up(*m, rule.m);
    *n = rounded_up(*n, rule.n);
    *k = rounded_up(*k, rule.k);
}
