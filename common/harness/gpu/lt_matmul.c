/* cuBLASLt: products by any of its algorithms. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffers.h"
#include "harness/gpu/cublas.h"
#include "harness/message.h"

/* The cuBLAS from which cuBLASLt has them. (Its documentation: 1D and 2D Block Scaling for FP8.) */
#define FIRST_WITH_BLOCK_SCALES 120900

/* Of a call that describes the product, or what is wanted of its algorithms. */
static void check(cublasStatus_t status) {
    cublas_check(status, "describing a product to cuBLASLt");
}

static void set_attribute(second_opinion *opinion, cublasLtMatmulDescAttributes_t attribute,
                          const void *value, size_t size) {
    check(cublasLtMatmulDescSetAttribute(&opinion->operation, attribute, value, size));
}

/* Each copy of the operands has scales of its own. cuBLASLt's A is our B. */
static void set_scales(second_opinion *opinion, const problem *problem) {
    const void *of_b = problem->scale_b;
    const void *of_a = problem->scale_a;
    if (opinion->step->computes == GEMM_FP8) {
        set_attribute(opinion, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &of_b, sizeof of_b);
        set_attribute(opinion, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &of_a, sizeof of_a);
    }
}

static const struct {
    cudaDataType_t operands, output;
} TYPES[] = {[GEMM_BF16] = {CUDA_R_16BF, CUDA_R_16BF},
             [GEMM_FP16] = {CUDA_R_16F, CUDA_R_16F},
             [ADDMM_FP16] = {CUDA_R_16F, CUDA_R_32F},
             [GEMM_FP8] = {CUDA_R_8F_E4M3, CUDA_R_16BF}};

/* Columns first, as in cublas.c: D^T = B * A^T. */
static void describe_product(second_opinion *opinion, const problem *problem) {
    const step *step = opinion->step;
    const cudaDataType_t operands = TYPES[step->computes].operands;
    const uint64_t m = (uint64_t)problem->m;
    const uint64_t n = (uint64_t)problem->n;
    const uint64_t k = (uint64_t)problem->k;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    /* Else the tensor cores' sums are added up in fp32. The best one is to do as the step does. */
    const int8_t fast =
        opinion->contender == CONTENDER_NARROW_SUMS ||
        ((opinion->contender == CONTENDER_FIRST || opinion->contender == CONTENDER_HEURISTIC) &&
         step->promotion == 0);
    check(cublasLtMatmulDescInit(&opinion->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_attribute(opinion, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    if (step->computes == GEMM_FP8) {
        set_attribute(opinion, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
    }
#if CUBLAS_VERSION >= FIRST_WITH_BLOCK_SCALES
    const int32_t of_b = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t of_a = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    if (step->block_scales) {
        set_attribute(opinion, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &of_b, sizeof of_b);
        set_attribute(opinion, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &of_a, sizeof of_a);
    }
#endif
    set_scales(opinion, problem);
    check(cublasLtMatrixLayoutInit(&opinion->b, operands, k, n, (int64_t)k));
    check(cublasLtMatrixLayoutInit(&opinion->a, operands, k, m, (int64_t)k));
    check(cublasLtMatrixLayoutInit(&opinion->d, TYPES[step->computes].output, n, m, (int64_t)n));
}

/* cuBLASLt takes the alignment of rows from the layouts, and assumes that a matrix begins at a
 * multiple of 256 bytes, which is so here. Where k is split, partial sums are not to be rounded to
 * 16 bits: the rungs do not do that either. INPLACE adds them up in the output, so only in an fp32
 * one. What does not split k has no bit in the mask and passes. (cuBLAS documentation:
 * cublasLtReductionScheme_t.) */
static void find_heuristics(second_opinion *opinion) {
    const bool fp32_output = TYPES[opinion->step->computes].output == CUDA_R_32F;
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
                                (fp32_output ? CUBLASLT_REDUCTION_SCHEME_INPLACE : 0);
    const uint64_t workspace = LT_WORKSPACE_BYTES;
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t found[MOST_HEURISTICS];
    check(cublasLtMatmulPreferenceInit(&preference));
    check(cublasLtMatmulPreferenceSetAttribute(
        &preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    check(cublasLtMatmulPreferenceSetAttribute(
        &preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions));
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        opinion->lt, &opinion->operation, &opinion->b, &opinion->a, &opinion->d, &opinion->d,
        &preference, MOST_HEURISTICS, found, &opinion->heuristics);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
        opinion->heuristics = 0;
        return;
    }
    cublas_check(status, "asking cuBLASLt for its algorithms");
    for (; opinion->count < opinion->heuristics; ++opinion->count) {
        opinion->algorithms[opinion->count] = found[opinion->count].algo;
    }
}

void lt_open(second_opinion *opinion, const problem *problem) {
    opinion->workspace = device_memory(LT_WORKSPACE_BYTES, "cuBLASLt");
    opinion->lt = (cublasLtHandle_t)opinion->cublas; /* which holds one (cuBLAS documentation) */
    if (!opinion->step->block_scales || CUBLAS_VERSION >= FIRST_WITH_BLOCK_SCALES) {
        describe_product(opinion, problem);
        find_heuristics(opinion);
    }
}

cublasStatus_t lt_launch(second_opinion *opinion, const problem *problem) {
    const bool scaled = opinion->step->computes == ADDMM_FP16;
    const float alpha = scaled ? problem->alpha : 1;
    const float beta = scaled ? problem->beta : 0;
    set_scales(opinion, problem);
    return cublasLtMatmul(opinion->lt, &opinion->operation, &alpha, problem->b, &opinion->b,
                          problem->a, &opinion->a, &beta, scaled ? problem->c : problem->d,
                          &opinion->d, problem->d, &opinion->d,
                          &opinion->algorithms[opinion->chosen], opinion->workspace,
                          LT_WORKSPACE_BYTES, problem->stream);
}

/* ---- its algorithms */

/* From a file that make writes: what cublasLt.h calls the values of these attributes, or NULL. */
enum { LT_NAMES = 1024 };
extern const char *const lt_tiles[LT_NAMES];
extern const char *const lt_stages[LT_NAMES];
extern const char *const lt_clusters[LT_NAMES];

/* What tells an algorithm's kernel from others. */
enum part { TILE, STAGES, CLUSTER, OPTION, SPLIT_K, PARTS };
static const struct {
    const char *name;
    cublasLtMatmulAlgoConfigAttributes_t attribute;
    size_t size;
    const char *const *names; /* of its values */
} PART[PARTS] = {
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, sizeof(uint32_t), lt_tiles},
    {", stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, sizeof(uint32_t), lt_stages},
    {", cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(uint16_t), lt_clusters},
    {", option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, sizeof(uint32_t), NULL},
    {", split-k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, sizeof(uint32_t), NULL}};

/* In words: "tile 256x128, stages 64xAUTO, cluster 1x2x1, option 7, split-k 1". */
heuristic lt_describe(const second_opinion *opinion, int number) {
    const cublasLtMatmulAlgo_t *algorithm = &opinion->algorithms[number];
    heuristic described = {.number = number, .seconds = NAN};
    size_t used = 0;
    for (size_t i = 0; i < sizeof *algorithm; ++i) {
        snprintf(&described.algorithm[2 * i], 3, "%02x", ((const unsigned char *)algorithm)[i]);
    }
    for (enum part i = 0; i < PARTS; ++i) {
        const char *const *names = PART[i].names;
        uint32_t value = 0;
        size_t written;
        char digits[16];
        (void)cublasLtMatmulAlgoConfigGetAttribute(algorithm, PART[i].attribute, &value,
                                                   PART[i].size, &written);
        snprintf(digits, sizeof digits, "%u", (unsigned)value);
        const bool named = names != NULL && value < LT_NAMES && names[value] != NULL;
        used += (size_t)snprintf(described.name + used, sizeof described.name - used, "%s %s",
                                 PART[i].name, named ? names[value] : digits);
    }
    return described;
}

static void set_part(cublasLtMatmulAlgo_t *algorithm, enum part part, uint32_t value) {
    (void)cublasLtMatmulAlgoConfigSetAttribute(algorithm, PART[part].attribute, &value,
                                               PART[part].size);
}

/* The algorithm with another tile, cluster and custom option. What cannot be set does not pass the
 * check either. */
static cublasLtMatmulAlgo_t configured(cublasLtMatmulAlgo_t algorithm, uint32_t tile,
                                       uint32_t cluster, uint32_t option) {
    set_part(&algorithm, TILE, tile);
    set_part(&algorithm, CLUSTER, cluster);
    set_part(&algorithm, OPTION, option);
    return algorithm;
}

/* The number of the first of the algorithms that is the same; count if there is none. */
static int find(const cublasLtMatmulAlgo_t *algorithms, int count,
                const cublasLtMatmulAlgo_t *algorithm) {
    int number = 0;
    while (number < count && memcmp(&algorithms[number], algorithm, sizeof *algorithm) != 0) {
        ++number;
    }
    return number;
}

static bool takes_shape(second_opinion *opinion, const cublasLtMatmulAlgo_t *algorithm) {
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(opinion->lt, &opinion->operation, &opinion->b, &opinion->a,
                                   &opinion->d, &opinion->d, algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= LT_WORKSPACE_BYTES;
}

/* Appends all tiles, clusters and custom options of a heuristic's algorithm that take the shape and
 * are no heuristics. (cuBLAS documentation: cublasLtMatmulAlgoCapGetAttribute.) */
static void append_kind(second_opinion *opinion, const cublasLtMatmulAlgo_t *kind) {
    uint32_t tiles[CUBLASLT_MATMUL_TILE_END] = {0};
    uint32_t last_option = 0;
    size_t bytes = 0; /* queried first: the second call wants the exact size */
    size_t written;
    (void)cublasLtMatmulAlgoCapGetAttribute(kind, CUBLASLT_ALGO_CAP_TILE_IDS, NULL, 0, &bytes);
    if (bytes == 0 || bytes > sizeof tiles ||
        cublasLtMatmulAlgoCapGetAttribute(kind, CUBLASLT_ALGO_CAP_TILE_IDS, tiles, bytes,
                                          &written) != CUBLAS_STATUS_SUCCESS) {
        bytes = sizeof *tiles; /* it has none to choose from: tile 0 */
    }
    (void)cublasLtMatmulAlgoCapGetAttribute(kind, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &last_option,
                                            sizeof last_option, &written);
    for (size_t tile = 0; tile < bytes / sizeof *tiles; ++tile) {
        for (uint32_t cluster = 0; cluster < CUBLASLT_CLUSTER_SHAPE_END; ++cluster) {
            for (uint32_t option = 0; option <= last_option; ++option) {
                const cublasLtMatmulAlgo_t one = configured(*kind, tiles[tile], cluster, option);
                if (find(opinion->algorithms, opinion->heuristics, &one) == opinion->heuristics &&
                    opinion->count < MOST_ALGORITHMS && takes_shape(opinion, &one)) {
                    opinion->algorithms[opinion->count++] = one;
                }
            }
        }
    }
}

void lt_enumerate(second_opinion *opinion) {
    cublasLtMatmulAlgo_t kinds[MOST_HEURISTICS];
    for (int i = 0; i < opinion->heuristics; ++i) {
        kinds[i] = configured(opinion->algorithms[i], 0, 0, 0);
        if (find(kinds, i, &kinds[i]) == i) { /* the first of its kind */
            append_kind(opinion, &opinion->algorithms[i]);
        }
    }
}

void lt_take(second_opinion *opinion, const problem *problem, const char *digits) {
    cublasLtMatmulAlgo_t algorithm;
    _Static_assert(2 * sizeof algorithm == ALGORITHM_DIGITS, "two digits are a byte");
    for (size_t i = 0; i < sizeof algorithm; ++i) {
        (void)sscanf(&digits[2 * i], "%2hhx", &((unsigned char *)&algorithm)[i]);
    }
    opinion->chosen = find(opinion->algorithms, opinion->count, &algorithm);
    if (opinion->chosen == opinion->count) {
        if (!takes_shape(opinion, &algorithm)) {
            end_with(STATUS_FAILED, "--algorithm: cuBLASLt does not take it for m=%d n=%d k=%d",
                     problem->m, problem->n, problem->k);
        }
        opinion->algorithms[opinion->count++] = algorithm;
    }
}
