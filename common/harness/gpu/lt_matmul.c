#include "harness/gpu/lt_matmul.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/kernel_names.h"
#include "harness/message.h"

/* What cuBLAS's documentation recommends for Hopper. */
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;

struct lt_matmul {
    enum computation computes;
    struct CUstream_st *stream;
    void *workspace;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;   /* C has D's */
    int m, n, k;                      /* that the layouts and the algorithms are for; 0: none yet */
    cublasLtMatmulAlgo_t *algorithms; /* [room] */
    int room;
    int heuristics; /* the first ones are those that cuBLASLt has returned ... */
    int count;      /* ... of all */
    int chosen;
};

lt_matmul *lt_matmul_open(enum computation computes, struct CUstream_st *stream) {
    lt_matmul *matmul = calloc(1, sizeof *matmul);
    if (matmul == NULL) {
        message("no memory to start cuBLASLt");
        return NULL;
    }
    matmul->computes = computes;
    matmul->stream = stream;
    if (cuda_failed(cudaMalloc(&matmul->workspace, WORKSPACE_BYTES),
                    "allocating %zu bytes for cuBLASLt", WORKSPACE_BYTES)) {
        free(matmul);
        return NULL;
    }
    const cublasStatus_t status = cublasLtCreate(&matmul->handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("starting cuBLASLt failed: %s", cublasGetStatusString(status));
        lt_matmul_close(matmul);
        return NULL;
    }
    return matmul;
}

/* After a fault every call repeats the error that was reported already. */
static void forget_shape(lt_matmul *matmul) {
    cublasLtMatrixLayout_t *const layouts[] = {&matmul->a, &matmul->b, &matmul->d};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
        if (*layouts[i] != NULL) {
            (void)cublasLtMatrixLayoutDestroy(*layouts[i]);
            *layouts[i] = NULL;
        }
    }
    if (matmul->operation != NULL) {
        (void)cublasLtMatmulDescDestroy(matmul->operation);
        matmul->operation = NULL;
    }
    matmul->m = 0;
    matmul->heuristics = 0;
    matmul->count = 0;
}

void lt_matmul_close(lt_matmul *matmul) {
    if (matmul != NULL) {
        forget_shape(matmul);
        if (matmul->handle != NULL) {
            (void)cublasLtDestroy(matmul->handle);
        }
        (void)cudaFree(matmul->workspace);
        free(matmul->algorithms);
        free(matmul);
    }
}

static cublasStatus_t append(lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm) {
    if (matmul->count == matmul->room) {
        const int room = 2 * matmul->room + MOST_HEURISTICS;
        cublasLtMatmulAlgo_t *moved =
            realloc(matmul->algorithms, (size_t)room * sizeof *matmul->algorithms);
        if (moved == NULL) {
            return CUBLAS_STATUS_ALLOC_FAILED;
        }
        matmul->algorithms = moved;
        matmul->room = room;
    }
    matmul->algorithms[matmul->count++] = *algorithm;
    return CUBLAS_STATUS_SUCCESS;
}

static cudaDataType_t operand_type(const lt_matmul *matmul) {
    return matmul->computes == GEMM_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static cudaDataType_t output_type(const lt_matmul *matmul) {
    return matmul->computes == ADDMM_FP16 ? CUDA_R_32F : operand_type(matmul);
}

/* Columns first, as in cublas.c: D^T = B * A^T. */
static cublasStatus_t describe(lt_matmul *matmul, const problem *problem) {
    const uint64_t m = (uint64_t)problem->m;
    const uint64_t n = (uint64_t)problem->n;
    const uint64_t k = (uint64_t)problem->k;
    const cudaDataType_t type = operand_type(matmul);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasStatus_t status =
        cublasLtMatmulDescCreate(&matmul->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulDescSetAttribute(matmul->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                &transposed, sizeof transposed);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&matmul->b, type, k, n, (int64_t)k);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&matmul->a, type, k, m, (int64_t)k);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatrixLayoutCreate(&matmul->d, output_type(matmul), n, m, (int64_t)n);
    }
    return status;
}

/* Where k is split, partial sums are not to be rounded to the output's format before they are
 * added: the rungs do not do that either. */
static cublasStatus_t prefer(cublasLtMatmulPreference_t preference) {
    const uint32_t reductions =
        (uint32_t)CUBLASLT_REDUCTION_SCHEME_MASK & ~(uint32_t)CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    const cublasStatus_t status =
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES);
    return status != CUBLAS_STATUS_SUCCESS
               ? status
               : cublasLtMatmulPreferenceSetAttribute(preference,
                                                      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                      &reductions, sizeof reductions);
}

static cublasStatus_t ask(lt_matmul *matmul) {
    cublasLtMatmulPreference_t preference;
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    cublasLtMatmulHeuristicResult_t found[MOST_HEURISTICS];
    int count = 0;
    status = prefer(preference);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = cublasLtMatmulAlgoGetHeuristic(matmul->handle, matmul->operation, matmul->b,
                                                matmul->a, matmul->d, matmul->d, preference,
                                                MOST_HEURISTICS, found, &count);
    }
    (void)cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i) {
        status = append(matmul, &found[i].algo);
    }
    matmul->heuristics = matmul->count;
    return status;
}

static cublasStatus_t take_shape(lt_matmul *matmul, const problem *problem) {
    if (matmul->m == problem->m && matmul->n == problem->n && matmul->k == problem->k) {
        return CUBLAS_STATUS_SUCCESS;
    }
    forget_shape(matmul);
    cublasStatus_t status = describe(matmul, problem);
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = ask(matmul);
    }
    if (status == CUBLAS_STATUS_SUCCESS) {
        matmul->m = problem->m;
        matmul->n = problem->n;
        matmul->k = problem->k;
    }
    return status;
}

cublasStatus_t lt_matmul_count(lt_matmul *matmul, const problem *problem, int *count) {
    const cublasStatus_t status = take_shape(matmul, problem);
    *count = matmul->heuristics;
    return status;
}

/* ---- every configuration */

typedef enum { TILE, CLUSTER, CUSTOM_OPTION, DIALS } dial;

/* A library may list more than can be checked. Then the rest is left out: so many are kept at most,
 * and so many seconds are taken. */
enum { MOST_CONFIGURATIONS = 2048, MOST_CUSTOM_OPTIONS = 64 };
static const double ENUMERATION_SECONDS = 8; /* for tiles and clusters, and as many for options */

/* The positions of one dial. */
typedef struct positions {
    uint32_t list[CUBLASLT_MATMUL_TILE_END];
    int count;
} positions;

typedef struct enumeration {
    lt_matmul *matmul;
    positions dials[DIALS];
    double begin;
    double limit; /* in seconds from then */
    size_t checks;
    bool cut; /* something was left out */
} enumeration;

static bool ended(enumeration *e) {
    const bool now =
        e->matmul->count >= MOST_CONFIGURATIONS || monotonic_seconds() - e->begin > e->limit;
    e->cut = e->cut || now;
    return now;
}

static void set(cublasLtMatmulAlgo_t *algorithm, dial dial, uint32_t value) {
    static const cublasLtMatmulAlgoConfigAttributes_t ATTRIBUTES[DIALS] = {
        CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
        CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION};
    const uint16_t narrow = (uint16_t)value;
    const bool is_narrow = dial == CLUSTER; /* this one has 16 bits, the others 32 */
    /* What cannot be set does not pass the check either. */
    (void)cublasLtMatmulAlgoConfigSetAttribute(algorithm, ATTRIBUTES[dial],
                                               is_narrow ? (const void *)&narrow : &value,
                                               is_narrow ? sizeof narrow : sizeof value);
}

/* The tiles that an algorithm says it has; 0 alone if it says nothing. */
static void ask_tiles(const cublasLtMatmulAlgo_t *algorithm, positions *tiles) {
    size_t bytes = 0; /* queried first: the second call wants the exact size */
    tiles->count = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, NULL, 0, &bytes) ==
            CUBLAS_STATUS_SUCCESS &&
        bytes <= sizeof tiles->list &&
        cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, tiles->list, bytes,
                                          &bytes) == CUBLAS_STATUS_SUCCESS) {
        tiles->count = (int)(bytes / sizeof *tiles->list);
    }
    if (tiles->count == 0) {
        tiles->list[tiles->count++] = 0;
    }
}

static void count_positions(positions *positions, uint32_t count) {
    for (positions->count = 0; (uint32_t)positions->count < count; ++positions->count) {
        positions->list[positions->count] = (uint32_t)positions->count;
    }
}

static void ask_positions(const cublasLtMatmulAlgo_t *algorithm, positions dials[DIALS]) {
    uint32_t last = 0;
    size_t bytes = 0;
    ask_tiles(algorithm, &dials[TILE]);
    count_positions(&dials[CLUSTER], CUBLASLT_CLUSTER_SHAPE_END);
    if (cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &last,
                                          sizeof last, &bytes) != CUBLAS_STATUS_SUCCESS) {
        last = 0;
    }
    count_positions(&dials[CUSTOM_OPTION],
                    last < MOST_CUSTOM_OPTIONS ? last + 1 : MOST_CUSTOM_OPTIONS);
}

static bool takes_shape(const lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm) {
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(matmul->handle, matmul->operation, matmul->b, matmul->a,
                                   matmul->d, matmul->d, algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= WORKSPACE_BYTES;
}

static int find(const lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm) {
    int number = 0;
    while (number < matmul->count &&
           memcmp(&matmul->algorithms[number], algorithm, sizeof *algorithm) != 0) {
        ++number;
    }
    return number;
}

static cublasStatus_t append_if_new(enumeration *e, const cublasLtMatmulAlgo_t *algorithm) {
    ++e->checks;
    return takes_shape(e->matmul, algorithm) && find(e->matmul, algorithm) == e->matmul->count
               ? append(e->matmul, algorithm)
               : CUBLAS_STATUS_SUCCESS;
}

/* All tiles and clusters that go with the rest of a heuristic's configuration ... */
static cublasStatus_t vary_tile_and_cluster(enumeration *e, cublasLtMatmulAlgo_t algorithm) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < e->dials[TILE].count; ++i) {
        set(&algorithm, TILE, e->dials[TILE].list[i]);
        for (int j = 0; j < e->dials[CLUSTER].count && !ended(e); ++j) {
            set(&algorithm, CLUSTER, e->dials[CLUSTER].list[j]);
            status = status == CUBLAS_STATUS_SUCCESS ? append_if_new(e, &algorithm) : status;
        }
    }
    return status;
}

/* ... and all custom options of what has been found so far. */
static cublasStatus_t vary_custom_option(enumeration *e) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const int found = e->matmul->count;
    for (int i = 0; i < found; ++i) {
        cublasLtMatmulAlgo_t algorithm = e->matmul->algorithms[i];
        for (int j = 0; j < e->dials[CUSTOM_OPTION].count && !ended(e); ++j) {
            set(&algorithm, CUSTOM_OPTION, e->dials[CUSTOM_OPTION].list[j]);
            status = status == CUBLAS_STATUS_SUCCESS ? append_if_new(e, &algorithm) : status;
        }
    }
    return status;
}

/* What an algorithm is beside its tile and cluster. */
static cublasLtMatmulAlgo_t rest_of(cublasLtMatmulAlgo_t algorithm) {
    set(&algorithm, TILE, 0);
    set(&algorithm, CLUSTER, 0);
    return algorithm;
}

/* Whether no heuristic before it has the same rest. */
static bool is_first_of_kind(const lt_matmul *matmul, int number) {
    const cublasLtMatmulAlgo_t rest = rest_of(matmul->algorithms[number]);
    for (int i = 0; i < number; ++i) {
        const cublasLtMatmulAlgo_t other = rest_of(matmul->algorithms[i]);
        if (memcmp(&rest, &other, sizeof rest) == 0) {
            return false;
        }
    }
    return true;
}

cublasStatus_t lt_matmul_enumerate(lt_matmul *matmul, const problem *problem, int *count) {
    static enumeration e; /* too large for the stack */
    cublasStatus_t status = take_shape(matmul, problem);
    matmul->count = matmul->heuristics; /* forgets what an earlier call has found */
    e = (enumeration){.matmul = matmul, .begin = monotonic_seconds(), .limit = ENUMERATION_SECONDS};
    if (matmul->heuristics > 0) {
        ask_positions(&matmul->algorithms[0], e.dials);
    }
    for (int i = 0; i < matmul->heuristics && status == CUBLAS_STATUS_SUCCESS; ++i) {
        status = is_first_of_kind(matmul, i) ? vary_tile_and_cluster(&e, matmul->algorithms[i])
                                             : CUBLAS_STATUS_SUCCESS;
    }
    e.limit += ENUMERATION_SECONDS;
    if (status == CUBLAS_STATUS_SUCCESS) {
        status = vary_custom_option(&e);
    }
    message(
        "cuBLASLt lists %d tiles, %d cluster shapes and %d custom options: %zu checks in %.1f s,"
        " %d configurations%s",
        e.dials[TILE].count, e.dials[CLUSTER].count, e.dials[CUSTOM_OPTION].count, e.checks,
        monotonic_seconds() - e.begin, matmul->count, e.cut ? "; not all were looked at" : "");
    *count = matmul->count;
    return status;
}

/* ---- one of them as text */

void lt_matmul_digits(const lt_matmul *matmul, int number, char digits[ALGORITHM_DIGITS + 1]) {
    unsigned char bytes[ALGORITHM_DIGITS / 2];
    _Static_assert(sizeof bytes == sizeof(cublasLtMatmulAlgo_t), "two digits are a byte");
    memcpy(bytes, &matmul->algorithms[number], sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; ++i) {
        snprintf(&digits[2 * i], 3, "%02x", (unsigned)bytes[i]);
    }
}

cublasStatus_t lt_matmul_restore(lt_matmul *matmul, const problem *problem, const char *digits,
                                 int *number) {
    unsigned char bytes[ALGORITHM_DIGITS / 2];
    cublasLtMatmulAlgo_t algorithm;
    for (size_t i = 0; i < sizeof bytes; ++i) {
        unsigned byte = 0;
        if (sscanf(&digits[2 * i], "%2x", &byte) != 1) {
            return CUBLAS_STATUS_INVALID_VALUE;
        }
        bytes[i] = (unsigned char)byte;
    }
    memcpy(&algorithm, bytes, sizeof algorithm);
    cublasStatus_t status = take_shape(matmul, problem);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    *number = find(matmul, &algorithm);
    if (*number == matmul->count) {
        status = takes_shape(matmul, &algorithm) ? append(matmul, &algorithm)
                                                 : CUBLAS_STATUS_NOT_SUPPORTED;
    }
    matmul->chosen = *number;
    return status;
}

void lt_matmul_choose(lt_matmul *matmul, int algorithm) { matmul->chosen = algorithm; }

cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const bool scaled = matmul->computes == ADDMM_FP16;
    const cublasStatus_t status = take_shape(matmul, problem);
    if (status != CUBLAS_STATUS_SUCCESS) {
        return status;
    }
    if (matmul->chosen >= matmul->count) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return cublasLtMatmul(matmul->handle, matmul->operation, scaled ? &problem->alpha : &one,
                          problem->b, matmul->b, problem->a, matmul->a,
                          scaled ? &problem->beta : &zero, scaled ? problem->c : problem->d,
                          matmul->d, problem->d, matmul->d, &matmul->algorithms[matmul->chosen],
                          matmul->workspace, WORKSPACE_BYTES, matmul->stream);
}

typedef struct call {
    lt_matmul *matmul;
    const problem *problem;
} call;

static int enqueue(void *context) {
    const call *call = context;
    const cublasStatus_t status = lt_matmul_launch(call->matmul, call->problem);
    if (status != CUBLAS_STATUS_SUCCESS) {
        message("asking cuBLASLt for its kernels failed: %s", cublasGetStatusString(status));
    }
    return status != CUBLAS_STATUS_SUCCESS;
}

int lt_matmul_describe(lt_matmul *matmul, const problem *problem, char *text, size_t size) {
    call call = {matmul, problem};
    return kernel_names(matmul->stream, enqueue, &call, text, size);
}
