#include "harness/arithmetic.h"

#include <math.h>

/* Whole numbers that a format holds without a gap, and fp16's largest finite number. */
enum { FP16_INTEGERS = 2048, FP16_LARGEST = 65504 };

/* alpha and beta are counted in these parts of 1 for the exact check, and are at most so many. */
enum { PARTS_OF_ONE = 16, MOST_PARTS = 256 };

enum { C_RANGE = 4 };

static const family PRODUCT = {.rivals = {{CONTENDER_EARLY, "early", "early"},
                                          {CONTENDER_OTHER, "cuBLAS", "cublas"},
                                          {CONTENDER_FP16_SUMS, "cuBLAS 16", "cublas_fp16_sums"},
                                          {CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt"}},
                               .peer = CONTENDER_OTHER,
                               .host = "the host product",
                               .host_key = "host_product",
                               .timed_key = "bounded",
                               .unit = "TFLOPS",
                               .rate_key = "tflops",
                               .share_key = "tensor_core_share",
                               .launch = "GEMM",
                               .exact_inputs = INPUTS_INTEGERS,
                               .exact = CHECK_EXACT,
                               .timed = CHECK_BOUNDED};

static const family MOVE = {.rivals = {{CONTENDER_COPY, "copy", "device_copy"},
                                       {CONTENDER_OTHER, "second", "second_opinion"}},
                            .peer = CONTENDER_COPY,
                            .host = "the host loop",
                            .host_key = "host_loop",
                            .timed_key = "timed_inputs",
                            .unit = "GB/s",
                            .rate_key = "gb_per_s",
                            .share_key = "memory_share",
                            .launch = "launch",
                            .exact_inputs = INPUTS_BITS,
                            .exact = CHECK_WORDS,
                            .timed = CHECK_WORDS};

static const arithmetic ARITHMETICS[] = {
    [GEMM_BF16] = {.name = "gemm_bf16",
                   .formats = "bf16 in and out",
                   .operands = NUMBER_BF16,
                   .output = NUMBER_BF16,
                   .family = &PRODUCT},
    [GEMM_FP16] = {.name = "gemm_fp16",
                   .formats = "fp16 in and out",
                   .operands = NUMBER_FP16,
                   .output = NUMBER_FP16,
                   .fp16_sums = true,
                   .family = &PRODUCT},
    [ADDMM_FP16] = {.name = "addmm_fp16",
                    .formats = "A and B fp16, C and D fp32",
                    .operands = NUMBER_FP16,
                    .output = NUMBER_FP32,
                    .takes_c = true,
                    .family = &PRODUCT},
    [ADD_ONE_INT32] = {.name = "add_one_int32",
                       .formats = "int32, one added to each",
                       .operands = NUMBER_INT32,
                       .output = NUMBER_INT32,
                       .moves = true,
                       .family = &MOVE},
    [TRANSPOSE_FP32] = {.name = "transpose_fp32",
                        .formats = "fp32, transposed",
                        .operands = NUMBER_FP32,
                        .output = NUMBER_FP32,
                        .moves = true,
                        .transposes = true,
                        .family = &MOVE},
};

arithmetic arithmetic_of(const step *step) {
    if ((size_t)step->computes >= sizeof ARITHMETICS / sizeof *ARITHMETICS) {
        return ARITHMETICS[0]; /* of no computation: it has no name */
    }
    arithmetic result = ARITHMETICS[step->computes];
    result.fp16_sums = result.fp16_sums && step->fp16_sums;
    return result;
}

double arithmetic_moved_bytes(const arithmetic *arithmetic, int m, int n) {
    const size_t of_an_element =
        number_bytes(arithmetic->operands) + number_bytes(arithmetic->output);
    return (double)of_an_element * (double)m * (double)n;
}

rounding arithmetic_rounding(const arithmetic *arithmetic, int k, bool fp16_sums) {
    /* alpha's product with the sum, beta's with c, and the sum of the two. */
    enum { ROUNDINGS_WITH_C = 3 };
    return (rounding){arithmetic->output, (double)k + (arithmetic->takes_c ? ROUNDINGS_WITH_C : 0),
                      fp16_sums ? (k + FP16_SUM_GROUP - 1) / FP16_SUM_GROUP : 0};
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
    } else if (arithmetic->output == NUMBER_FP16) {
        limit = FP16_LARGEST;
    }
    const int range = random_integer_range(k, limit);
    integers.range = range > 0 ? range : 1;
    integers.spacing = range > 0 ? 1 : (int)((k + limit - 1) / limit);
    return integers;
}
