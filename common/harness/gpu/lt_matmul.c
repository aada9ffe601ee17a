/* cuBLASLt: products by any of its algorithms, and which of them is the fastest. */
#include "harness/gpu/lt_matmul.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffers.h"
#include "harness/gpu/clocks.h"
#include "harness/message.h"
#include "harness/ranking.h"

/* What cuBLAS's documentation recommends for Hopper. */
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;

struct lt_matmul {
    enum computation computes;
    cudaDataType_t operands, output;
    bool fast;         /* of FP8: sums stay in the tensor cores */
    bool block_scales; /* as the step has them */
    struct CUstream_st *stream;
    void *workspace;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;   /* NULL until the shape is known */
    cublasLtMatrixLayout_t a, b, d;   /* C has D's */
    cublasLtMatmulAlgo_t *algorithms; /* [room] */
    int room;
    int heuristics; /* the first ones are those that cuBLASLt has returned ... */
    int count;      /* ... of all */
    int chosen;
};

void cublas_check(cublasStatus_t status, const char *what) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        end_with(STATUS_FAILED, "%s failed: %s: %s", what, cublasGetStatusName(status),
                 cublasGetStatusString(status));
    }
}

lt_matmul *lt_matmul_open(const step *step, bool fast, struct CUstream_st *stream) {
    const bool fp8 = step->computes == GEMM_FP8;
    const bool bf16 = step->computes == GEMM_BF16;
    lt_matmul *matmul = allocate(1, sizeof *matmul);
    matmul->computes = step->computes;
    matmul->operands = fp8 ? CUDA_R_8F_E4M3 : bf16 ? CUDA_R_16BF : CUDA_R_16F;
    matmul->output = step->computes == ADDMM_FP16 ? CUDA_R_32F
                     : fp8                        ? CUDA_R_16BF
                                                  : matmul->operands;
    matmul->fast = fast;
    matmul->block_scales = step->block_scales;
    matmul->stream = stream;
    matmul->workspace = device_memory(WORKSPACE_BYTES, "cuBLASLt");
    cublas_check(cublasLtCreate(&matmul->handle), "starting cuBLASLt");
    return matmul;
}

void lt_matmul_close(lt_matmul *matmul) {
    if (matmul == NULL) {
        return;
    }
    if (matmul->operation != NULL) {
        (void)cublasLtMatrixLayoutDestroy(matmul->a);
        (void)cublasLtMatrixLayoutDestroy(matmul->b);
        (void)cublasLtMatrixLayoutDestroy(matmul->d);
        (void)cublasLtMatmulDescDestroy(matmul->operation);
    }
    (void)cublasLtDestroy(matmul->handle);
    (void)cudaFree(matmul->workspace);
    free(matmul->algorithms);
    free(matmul);
}

static void append(lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm) {
    if (matmul->count == matmul->room) {
        matmul->room = 2 * matmul->room + MOST_HEURISTICS;
        matmul->algorithms =
            realloc(matmul->algorithms, (size_t)matmul->room * sizeof *matmul->algorithms);
        if (matmul->algorithms == NULL) {
            end_with(STATUS_FAILED, "no memory for %d of cuBLASLt's algorithms", matmul->room);
        }
    }
    matmul->algorithms[matmul->count++] = *algorithm;
}

static void set_attribute(lt_matmul *matmul, cublasLtMatmulDescAttributes_t attribute,
                          const void *value, size_t size) {
    cublas_check(cublasLtMatmulDescSetAttribute(matmul->operation, attribute, value, size),
                 "describing a product to cuBLASLt");
}

/* The cuBLAS from which cuBLASLt has them. (Its documentation: 1D and 2D Block Scaling for FP8.) */
#define FIRST_WITH_BLOCK_SCALES 120900

/* Whether the tensor cores' sums are added up in fp32, and whether each block has a scale. */
static void describe_fp8(lt_matmul *matmul) {
    const int8_t fast = matmul->fast;
    set_attribute(matmul, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
    if (!matmul->block_scales) {
        return;
    }
#if CUBLAS_VERSION >= FIRST_WITH_BLOCK_SCALES
    const int32_t of_b = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t of_a = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    set_attribute(matmul, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &of_b, sizeof of_b);
    set_attribute(matmul, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &of_a, sizeof of_a);
#endif
}

/* Each copy of the operands has scales of its own. cuBLASLt's A is our B. */
static void set_scales(lt_matmul *matmul, const problem *problem) {
    const void *of_b = problem->scale_b;
    const void *of_a = problem->scale_a;
    if (matmul->computes == GEMM_FP8) {
        set_attribute(matmul, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &of_b, sizeof of_b);
        set_attribute(matmul, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &of_a, sizeof of_a);
    }
}

/* Columns first, as in cublas.c: D^T = B * A^T. */
static void describe_product(lt_matmul *matmul, const problem *problem) {
    static const char what[] = "describing a product to cuBLASLt";
    const uint64_t m = (uint64_t)problem->m;
    const uint64_t n = (uint64_t)problem->n;
    const uint64_t k = (uint64_t)problem->k;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublas_check(cublasLtMatmulDescCreate(&matmul->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 what);
    set_attribute(matmul, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    if (matmul->computes == GEMM_FP8) {
        describe_fp8(matmul);
        set_scales(matmul, problem);
    }
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->b, matmul->operands, k, n, (int64_t)k), what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->a, matmul->operands, k, m, (int64_t)k), what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->d, matmul->output, n, m, (int64_t)n), what);
}

/* Describes the product and requests its algorithms, once. cuBLASLt takes the alignment of rows
 * from the layouts, and assumes that a matrix begins at a multiple of 256 bytes, which is so here.
 * Where k is split, partial sums are not to be rounded to 16 bits: the rungs do not do that either.
 * INPLACE adds them up in the output, so only in an fp32 one. What does not split k has no bit in
 * the mask and passes. (cuBLAS documentation: cublasLtReductionScheme_t.) */
static void take_shape(lt_matmul *matmul, const problem *problem) {
    static const char what[] = "asking cuBLASLt for its algorithms";
    const uint32_t in_fp32 = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const uint32_t in_output = CUBLASLT_REDUCTION_SCHEME_INPLACE;
    const uint32_t reductions = matmul->output == CUDA_R_32F ? in_fp32 | in_output : in_fp32;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[MOST_HEURISTICS];
    int count = 0;
    if (matmul->operation != NULL) {
        return;
    }
    describe_product(matmul, problem);
    cublas_check(cublasLtMatmulPreferenceCreate(&preference), what);
    cublas_check(cublasLtMatmulPreferenceSetAttribute(preference,
                                                      CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &WORKSPACE_BYTES, sizeof WORKSPACE_BYTES),
                 what);
    cublas_check(cublasLtMatmulPreferenceSetAttribute(preference,
                                                      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                      &reductions, sizeof reductions),
                 what);
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        matmul->handle, matmul->operation, matmul->b, matmul->a, matmul->d, matmul->d, preference,
        MOST_HEURISTICS, found, &count);
    const bool refused = status == CUBLAS_STATUS_NOT_SUPPORTED; /* the others are failures */
    cublas_check(refused ? CUBLAS_STATUS_SUCCESS : status, what);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; i < count && !refused; ++i) {
        append(matmul, &found[i].algo);
    }
    matmul->heuristics = matmul->count;
}

bool lt_matmul_takes(lt_matmul *matmul, const problem *problem) {
    if (matmul->block_scales && CUBLAS_VERSION < FIRST_WITH_BLOCK_SCALES) {
        return false;
    }
    take_shape(matmul, problem);
    return matmul->heuristics > 0;
}

/* ---- every configuration */

/* The algorithm with another tile, cluster and custom option. What cannot be set does not pass the
 * check either. */
static cublasLtMatmulAlgo_t configured(cublasLtMatmulAlgo_t algorithm, uint32_t tile,
                                       uint16_t cluster, uint32_t option) {
    (void)cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile,
                                               sizeof tile);
    (void)cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
                                               &cluster, sizeof cluster);
    (void)cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
                                               &option, sizeof option);
    return algorithm;
}

/* The number of the first that is the same among the first `count`; `count` if there is none. */
static int find(const lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm, int count) {
    int number = 0;
    while (number < count &&
           memcmp(&matmul->algorithms[number], algorithm, sizeof *algorithm) != 0) {
        ++number;
    }
    return number;
}

static bool takes_shape(const lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm) {
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(matmul->handle, matmul->operation, matmul->b, matmul->a,
                                   matmul->d, matmul->d, algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= WORKSPACE_BYTES;
}

/* Whether no heuristic before it is the same but for tile, cluster and custom option. */
static bool is_first_of_kind(const lt_matmul *matmul, int number) {
    const cublasLtMatmulAlgo_t rest = configured(matmul->algorithms[number], 0, 0, 0);
    bool first = true;
    for (int i = 0; i < number; ++i) {
        const cublasLtMatmulAlgo_t other = configured(matmul->algorithms[i], 0, 0, 0);
        first = first && memcmp(&rest, &other, sizeof rest) != 0;
    }
    return first;
}

/* Appends all tiles, clusters and custom options of a heuristic's algorithm that take the shape and
 * are no heuristics. (cuBLAS documentation: cublasLtMatmulAlgoCapGetAttribute.) */
static void append_kind(lt_matmul *matmul, const cublasLtMatmulAlgo_t kind) {
    uint32_t tiles[CUBLASLT_MATMUL_TILE_END] = {0};
    uint32_t last_option = 0;
    size_t tile_bytes = 0; /* queried first: the second call wants the exact size */
    size_t written;
    (void)cublasLtMatmulAlgoCapGetAttribute(&kind, CUBLASLT_ALGO_CAP_TILE_IDS, NULL, 0,
                                            &tile_bytes);
    if (tile_bytes == 0 || tile_bytes > sizeof tiles ||
        cublasLtMatmulAlgoCapGetAttribute(&kind, CUBLASLT_ALGO_CAP_TILE_IDS, tiles, tile_bytes,
                                          &written) != CUBLAS_STATUS_SUCCESS) {
        tile_bytes = sizeof *tiles; /* it has none to choose from: tile 0 */
    }
    (void)cublasLtMatmulAlgoCapGetAttribute(&kind, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX,
                                            &last_option, sizeof last_option, &written);
    for (size_t tile = 0; tile < tile_bytes / sizeof *tiles; ++tile) {
        for (uint16_t cluster = 0; cluster < CUBLASLT_CLUSTER_SHAPE_END; ++cluster) {
            for (uint32_t option = 0; option <= last_option; ++option) {
                const cublasLtMatmulAlgo_t one = configured(kind, tiles[tile], cluster, option);
                if (find(matmul, &one, matmul->heuristics) == matmul->heuristics &&
                    takes_shape(matmul, &one)) {
                    append(matmul, &one);
                }
            }
        }
    }
}

/* Appends all other configurations of the algorithms that cuBLASLt has returned. */
static void enumerate_configurations(lt_matmul *matmul) {
    const double begin = monotonic_seconds();
    for (int i = 0; i < matmul->heuristics; ++i) {
        if (is_first_of_kind(matmul, i)) {
            append_kind(matmul, matmul->algorithms[i]);
        }
    }
    message("cuBLASLt takes %d configurations beside its %d heuristics, found in %.1f s",
            matmul->count - matmul->heuristics, matmul->heuristics, monotonic_seconds() - begin);
}

/* ---- one of them */

cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const bool scaled = matmul->computes == ADDMM_FP16;
    take_shape(matmul, problem);
    set_scales(matmul, problem);
    if (matmul->chosen >= matmul->count) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return cublasLtMatmul(matmul->handle, matmul->operation, scaled ? &problem->alpha : &one,
                          problem->b, matmul->b, problem->a, matmul->a,
                          scaled ? &problem->beta : &zero, scaled ? problem->c : problem->d,
                          matmul->d, problem->d, matmul->d, &matmul->algorithms[matmul->chosen],
                          matmul->workspace, WORKSPACE_BYTES, matmul->stream);
}

/* ---- its name */

/* From a file that make writes: what cublasLt.h calls the values of these attributes, or NULL. */
enum { LT_NAMES = 1024 };
extern const char *const lt_tiles[LT_NAMES];
extern const char *const lt_stages[LT_NAMES];
extern const char *const lt_clusters[LT_NAMES];

/* Notes the chosen algorithm's number, its digits, and in words what tells its kernel from others:
 * "tile 256x128, stages 64xAUTO, cluster 1x2x1, option 7". */
static void describe(const lt_matmul *matmul, heuristic *described) {
    const cublasLtMatmulAlgo_t *algorithm = &matmul->algorithms[matmul->chosen];
    const struct {
        const char *what;
        cublasLtMatmulAlgoConfigAttributes_t attribute;
        size_t size;
        const char *const *names;
    } parts[] = {
        {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, sizeof(uint32_t), lt_tiles},
        {", stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, sizeof(uint32_t), lt_stages},
        {", cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(uint16_t), lt_clusters},
        {", option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, sizeof(uint32_t), NULL},
        {", split-k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, sizeof(uint32_t), NULL}};
    size_t used = 0;
    described->number = matmul->chosen;
    for (size_t i = 0; i < ALGORITHM_DIGITS / 2; ++i) {
        snprintf(&described->algorithm[2 * i], 3, "%02x",
                 (unsigned)((const unsigned char *)algorithm)[i]);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        uint32_t value = 0;
        size_t written;
        char number[16];
        (void)cublasLtMatmulAlgoConfigGetAttribute(algorithm, parts[i].attribute, &value,
                                                   parts[i].size, &written);
        snprintf(number, sizeof number, "%u", (unsigned)value);
        const bool named =
            parts[i].names != NULL && value < LT_NAMES && parts[i].names[value] != NULL;
        used += (size_t)snprintf(described->name + used, sizeof described->name - used, "%s %s",
                                 parts[i].what, named ? parts[i].names[value] : number);
    }
}

/* ---- the fastest of them, found by timing them all */

/* One sample: idle before it, so that the previous one's heat does not slow it; and enough launches
 * to take at least this long. */
static const double PAUSE_SECONDS = 0.01;
enum { LEAST_LAUNCHES = 4, MOST_LAUNCHES = 128 };
static const double LEAST_SECONDS = 0.5e-3;
/* More are ranked first, by single launches; those that are left are sampled. Between two the chip
 * idles for this many launches' time, so that power limits none of them more than another. */
enum { MOST_SAMPLED = 256, IDLE_LAUNCHES = 2 };
/* The fastest, if they are this close to the first, are sampled this often in all. */
enum { FINALISTS = 8, SAMPLES = 5 };
static const double CLOSE = 1.1;

typedef struct search {
    lt_matmul *matmul;
    const problem *const *problems;
    size_t copies;
    size_t launches; /* so far, of all */
} search;

/* Enqueues launches, each on the next copy. False if cuBLASLt refuses the algorithm. */
static bool launch(search *search, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const problem *problem = search->problems[search->launches++ % search->copies];
        const cublasStatus_t status = lt_matmul_launch(search->matmul, problem);
        if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
            status == CUBLAS_STATUS_ARCH_MISMATCH) {
            return false;
        }
        cublas_check(status, "running cuBLASLt");
    }
    return true;
}

/* Seconds per launch of what was launched once before; NAN if cuBLASLt refuses it. Gated: else the
 * host's enqueueing time would decide for small products. */
static double time_launches(search *search, size_t count) {
    struct CUstream_st *stream = search->problems[0]->stream;
    gate_close(stream);
    watch_start(stream);
    const bool good = launch(search, count);
    watch_stop(stream);
    gate_open();
    cuda_check(cudaStreamSynchronize(stream), "running cuBLASLt");
    gate_check();
    return good ? watch_seconds() / (double)count : NAN;
}

/* Seconds per launch of one algorithm; NAN if cuBLASLt refuses it. */
static double sample(search *search, int number) {
    search->matmul->chosen = number;
    sleep_seconds(PAUSE_SECONDS);
    const double first = launch(search, 1) ? time_launches(search, 1) : NAN;
    const double wanted = fmin(fmax(ceil(LEAST_SECONDS / first), LEAST_LAUNCHES), MOST_LAUNCHES);
    return isfinite(first) ? time_launches(search, (size_t)wanted) : NAN;
}

/* Seconds of one more launch. The very first one loads the kernel and is not timed, since loading
 * can wait for a gated stream; it takes so long that the chip idles anyway. */
static double launch_ranked(void *context, int number, bool first) {
    search *search = context;
    search->matmul->chosen = number;
    const double seconds = !first || launch(search, 1) ? time_launches(search, 1) : NAN;
    if (!first && isfinite(seconds)) {
        sleep_seconds(IDLE_LAUNCHES * seconds);
    }
    return seconds;
}

/* The finalists of those in all[0 ... count - 1], the fastest first: each is sampled some times
 * more, in turn, and listed with its median. */
static void sample_finalists(search *search, const ranked *all, int count, heuristics *found) {
    double seconds[FINALISTS][SAMPLES];
    int finalists = 0;
    while (finalists < FINALISTS && finalists < count &&
           all[finalists].seconds <= CLOSE * all[0].seconds) {
        seconds[finalists][0] = all[finalists].seconds;
        ++finalists;
    }
    for (int i = finalists; i < SAMPLES * finalists; ++i) {
        seconds[i % finalists][i / finalists] = sample(search, all[i % finalists].number);
    }
    for (int i = 0; i < finalists; ++i) {
        found->tried[i].seconds = median(seconds[i], SAMPLES);
    }
    found->finalists = finalists;
}

void lt_matmul_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                      bool enumerates, heuristics *found) {
    search search = {matmul, problems, copies, 0};
    take_shape(matmul, problems[0]);
    *found = (heuristics){.returned = matmul->heuristics};
    if (enumerates) {
        enumerate_configurations(matmul);
        found->enumerated = matmul->count - matmul->heuristics;
    }
    int count = enumerates || most > matmul->heuristics ? matmul->count : most;
    ranked *all = allocate((size_t)count + 1, sizeof *all);
    for (int i = 0; i < count; ++i) {
        all[i].number = i;
    }
    int launched;
    const int left = rank_by_halving(all, count, MOST_SAMPLED, launch_ranked, &search, &launched);
    found->timed = launched > 0 ? launched : count;
    found->cut = found->timed < count;
    for (int i = 0; i < left; ++i) {
        all[i].seconds = sample(&search, all[i].number);
    }
    count = ranked_sort(all, left);
    if (count == 0) {
        end_with(STATUS_FAILED, "cuBLASLt has no algorithm that runs for this shape");
    }
    found->count = count < MOST_HEURISTICS ? count : MOST_HEURISTICS;
    for (int i = 0; i < found->count; ++i) {
        matmul->chosen = all[i].number;
        describe(matmul, &found->tried[i]);
        found->tried[i].seconds = all[i].seconds;
    }
    sample_finalists(&search, all, count, found);
    free(all);
}

void lt_matmul_choose(lt_matmul *matmul, const heuristic *chosen) {
    matmul->chosen = chosen->number;
}

void lt_matmul_take(lt_matmul *matmul, const problem *problem, const char *digits,
                    heuristics *found) {
    unsigned char bytes[ALGORITHM_DIGITS / 2];
    cublasLtMatmulAlgo_t algorithm;
    _Static_assert(sizeof bytes == sizeof algorithm, "two digits are a byte");
    for (size_t i = 0; i < sizeof bytes; ++i) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    memcpy(&algorithm, bytes, sizeof algorithm);
    take_shape(matmul, problem);
    *found = (heuristics){.returned = matmul->heuristics, .winner = {.seconds = NAN}};
    matmul->chosen = find(matmul, &algorithm, matmul->count);
    if (matmul->chosen == matmul->count && !takes_shape(matmul, &algorithm)) {
        end_with(STATUS_FAILED, "--algorithm: cuBLASLt does not take it for m=%d n=%d k=%d",
                 problem->m, problem->n, problem->k);
    }
    if (matmul->chosen == matmul->count) {
        append(matmul, &algorithm);
    }
    cublas_check(lt_matmul_launch(matmul, problem), "running cuBLASLt");
    describe(matmul, &found->winner);
}
