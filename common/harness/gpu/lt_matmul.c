/* cuBLASLt: products by any of its algorithms, and which of them is the fastest. */
#include "harness/gpu/cublas.h"

#include <cublasLt.h>
#include <cuda.h>
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

lt_matmul *lt_matmul_open(const step *step, bool fast, struct CUstream_st *stream) {
    lt_matmul *matmul = allocate(1, sizeof *matmul);
    matmul->computes = step->computes;
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

static cudaDataType_t operand_type(const lt_matmul *matmul) {
    return matmul->computes == GEMM_FP8    ? CUDA_R_8F_E4M3
           : matmul->computes == GEMM_BF16 ? CUDA_R_16BF
                                           : CUDA_R_16F;
}

static cudaDataType_t output_type(const lt_matmul *matmul) {
    return matmul->computes == ADDMM_FP16 ? CUDA_R_32F
           : matmul->computes == GEMM_FP8 ? CUDA_R_16BF
                                          : operand_type(matmul);
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
    const cudaDataType_t type = operand_type(matmul);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublas_check(cublasLtMatmulDescCreate(&matmul->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 what);
    set_attribute(matmul, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    if (matmul->computes == GEMM_FP8) {
        describe_fp8(matmul);
        set_scales(matmul, problem);
    }
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->b, type, k, n, (int64_t)k), what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->a, type, k, m, (int64_t)k), what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->d, output_type(matmul), n, m, (int64_t)n),
                 what);
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
    const uint32_t reductions = output_type(matmul) == CUDA_R_32F ? in_fp32 | in_output : in_fp32;
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

/* More are not looked at, should a library claim to have them. */
enum { MOST_CUSTOM_OPTIONS = 1024 };

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

static bool equal(const cublasLtMatmulAlgo_t *left, const cublasLtMatmulAlgo_t *right) {
    return memcmp(left, right, sizeof *left) == 0;
}

/* Its number among the first `count`; `count` if it is not there. */
static int find(const lt_matmul *matmul, const cublasLtMatmulAlgo_t *algorithm, int count) {
    int number = 0;
    while (number < count && !equal(&matmul->algorithms[number], algorithm)) {
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

/* Stores the tiles that an algorithm says it has (0 alone if it says nothing), and returns how many
 * they are. */
static size_t tiles_of(const cublasLtMatmulAlgo_t *algorithm,
                       uint32_t tiles[CUBLASLT_MATMUL_TILE_END]) {
    size_t bytes = 0; /* queried first: the second call wants the exact size */
    tiles[0] = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, NULL, 0, &bytes) ==
            CUBLAS_STATUS_SUCCESS &&
        bytes > 0 && bytes <= CUBLASLT_MATMUL_TILE_END * sizeof *tiles &&
        cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, tiles, bytes,
                                          &bytes) == CUBLAS_STATUS_SUCCESS) {
        return bytes / sizeof *tiles;
    }
    return 1;
}

static uint32_t last_custom_option(const cublasLtMatmulAlgo_t *algorithm) {
    uint32_t last = 0;
    size_t bytes;
    return cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &last,
                                             sizeof last, &bytes) == CUBLAS_STATUS_SUCCESS
               ? last
               : 0;
}

/* Whether no heuristic before it is the same but for tile, cluster and custom option. */
static bool is_first_of_kind(const lt_matmul *matmul, int number) {
    const cublasLtMatmulAlgo_t rest = configured(matmul->algorithms[number], 0, 0, 0);
    bool first = true;
    for (int i = 0; i < number; ++i) {
        const cublasLtMatmulAlgo_t other = configured(matmul->algorithms[i], 0, 0, 0);
        first = first && !equal(&rest, &other);
    }
    return first;
}

/* Appends all tiles, clusters and custom options of a heuristic's algorithm that take the shape.
 * Returns the number of checks. */
static size_t append_kind(lt_matmul *matmul, int number, bool *cut) {
    uint32_t tiles[CUBLASLT_MATMUL_TILE_END];
    const cublasLtMatmulAlgo_t kind = matmul->algorithms[number];
    const size_t tile_count = tiles_of(&kind, tiles);
    const uint32_t last = last_custom_option(&kind);
    const uint32_t options = last < MOST_CUSTOM_OPTIONS ? last + 1 : MOST_CUSTOM_OPTIONS;
    *cut = *cut || options <= last;
    for (size_t tile = 0; tile < tile_count; ++tile) {
        for (uint16_t cluster = 0; cluster < CUBLASLT_CLUSTER_SHAPE_END; ++cluster) {
            for (uint32_t option = 0; option < options; ++option) {
                const cublasLtMatmulAlgo_t one = configured(kind, tiles[tile], cluster, option);
                if (find(matmul, &one, matmul->heuristics) == matmul->heuristics &&
                    takes_shape(matmul, &one)) {
                    append(matmul, &one);
                }
            }
        }
    }
    return tile_count * CUBLASLT_CLUSTER_SHAPE_END * options;
}

/* Appends all other configurations of the algorithms that cuBLASLt has returned, whatever their
 * number. (cuBLAS documentation: cublasLtMatmulAlgoCapGetAttribute, cublasLtMatmulAlgoCheck.) */
static void enumerate_configurations(lt_matmul *matmul, heuristics *found) {
    const double begin = monotonic_seconds();
    size_t checks = 0;
    for (int i = 0; i < matmul->heuristics; ++i) {
        checks += is_first_of_kind(matmul, i) ? append_kind(matmul, i, &found->cut) : 0;
    }
    found->enumerated = matmul->count - matmul->heuristics;
    message("cuBLASLt takes %d configurations beside its %d heuristics: %zu checks in %.1f s",
            found->enumerated, found->returned, checks, monotonic_seconds() - begin);
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

/* More than a product with a split k has. */
enum { MOST_NODES = 8 };
/* The release whose form of the driver's functions is meant. */
enum { CUDA_12_3 = 12030 };

typedef CUresult (*node_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
typedef CUresult (*function_name)(const char **, CUfunction);
typedef CUresult (*library_kernel_name)(const char **, CUkernel);

/* The driver's functions, found at run time: the harness does not link the driver's library. */
typedef struct driver {
    node_params params;
    function_name function;
    library_kernel_name kernel;
} driver;

static void find_function(const char *name, void *function, size_t size) {
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    cuda_check(
        cudaGetDriverEntryPointByVersion(name, &found, CUDA_12_3, cudaEnableDefault, &result),
        "asking the driver for %s", name);
    if (result != cudaDriverEntryPointSuccess) {
        end_with(STATUS_FAILED, "this driver has no %s: install one for CUDA 12.3 or later", name);
    }
    /* ISO C has no conversion between pointers to data and to functions; POSIX promises it. */
    memcpy(function, &found, size);
}

/* NULL if the node is no kernel or keeps its name to itself. */
static const char *name_of_node(const driver *driver, cudaGraphNode_t node) {
    enum cudaGraphNodeType type;
    CUDA_KERNEL_NODE_PARAMS params;
    const char *name = NULL;
    if (cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel ||
        driver->params(node, &params) != CUDA_SUCCESS) {
        return NULL;
    }
    const CUresult status = params.func != NULL ? driver->function(&name, params.func)
                                                : driver->kernel(&name, params.kern);
    return status == CUDA_SUCCESS ? name : NULL;
}

/* The names of the kernels, in order, with " + " between, cut to size. */
static void list_names(cudaGraph_t graph, char *text, size_t size) {
    driver driver;
    cudaGraphNode_t nodes[MOST_NODES];
    size_t count = MOST_NODES;
    size_t used = 0;
    find_function("cuGraphKernelNodeGetParams", &driver.params, sizeof driver.params);
    find_function("cuFuncGetName", &driver.function, sizeof driver.function);
    find_function("cuKernelGetName", &driver.kernel, sizeof driver.kernel);
    cuda_check(cudaGraphGetNodes(graph, nodes, &count), "listing a graph's kernels");
    text[0] = '\0';
    for (size_t i = 0; i < count && used < size; ++i) {
        const char *name = name_of_node(&driver, nodes[i]);
        if (name != NULL) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "" : " + ", name);
        }
    }
}

/* Notes the chosen algorithm's number and digits, and the names of the kernels by which it computes
 * this product, found without a profiler: the call is captured into a graph instead of run, and the
 * graph's nodes are asked. It has to have been launched before: loading a kernel does not go into a
 * graph. (CUDA driver API: Stream Management, Graph Management.) */
static void describe(lt_matmul *matmul, const problem *problem, heuristic *described) {
    static const char what[] = "capturing a call to see its kernels";
    const unsigned char *bytes = (const unsigned char *)&matmul->algorithms[matmul->chosen];
    cudaGraph_t graph = NULL;
    described->number = matmul->chosen;
    for (size_t i = 0; i < ALGORITHM_DIGITS / 2; ++i) {
        snprintf(&described->algorithm[2 * i], 3, "%02x", (unsigned)bytes[i]);
    }
    cuda_check(cudaStreamBeginCapture(matmul->stream, cudaStreamCaptureModeThreadLocal), "%s",
               what);
    cublas_check(lt_matmul_launch(matmul, problem), "asking cuBLASLt for its kernels");
    cuda_check(cudaStreamEndCapture(matmul->stream, &graph), "%s", what);
    list_names(graph, described->name, sizeof described->name);
    (void)cudaGraphDestroy(graph); /* only its names are needed */
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
/* Most of hundreds are far from the best: one that is this much slower at its first timed launch is
 * not timed again. */
static const double HOPELESS = 1.3;

typedef struct search {
    lt_matmul *matmul;
    const problem *const *problems;
    size_t copies;
    size_t launches; /* so far, of all */
    double best;     /* first timed launch so far */
} search;

typedef struct runner {
    int number;
    double seconds[SAMPLES]; /* per launch */
} runner;

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
    search->best = fmin(search->best, first);
    if (!(first <= HOPELESS * search->best)) {
        return first;
    }
    const double wanted = fmin(fmax(ceil(LEAST_SECONDS / first), LEAST_LAUNCHES), MOST_LAUNCHES);
    return time_launches(search, (size_t)wanted);
}

static int in_order(double a, double b) { return (a > b) - (a < b); }
static int by_first_time(const void *left, const void *right) {
    return in_order(((const runner *)left)->seconds[0], ((const runner *)right)->seconds[0]);
}

static int smaller(int a, int b) { return a < b ? a : b; }

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

/* Ranks all of them, and stores those to be sampled. Returns how many they are. */
static int rank_all(search *search, runner *runners, int count, heuristics *found) {
    ranked *all = allocate((size_t)count, sizeof *all);
    for (int i = 0; i < count; ++i) {
        all[i].number = i;
    }
    const int left = rank_by_halving(all, count, MOST_SAMPLED, search->matmul->heuristics,
                                     launch_ranked, search, &found->timed);
    for (int i = 0; i < left; ++i) {
        runners[i].number = all[i].number;
    }
    free(all);
    found->cut = found->cut || found->timed < count;
    return left;
}

/* Samples all of them once, then the finalists in turn; lists them, the finalists first. */
static void sample_all(search *search, runner *runners, int most, heuristics *found) {
    int count = 0; /* of those that run: runners[0 ... count - 1], the fastest first */
    for (int i = 0; i < most; ++i) {
        runner next = runners[i];
        next.seconds[0] = sample(search, next.number);
        runners[count] = next;
        count += isfinite(next.seconds[0]) ? 1 : 0;
    }
    if (count == 0) {
        end_with(STATUS_FAILED, "cuBLASLt has no algorithm that runs for this shape");
    }
    qsort(runners, (size_t)count, sizeof *runners, by_first_time);
    int finalists = smaller(count, FINALISTS);
    while (runners[finalists - 1].seconds[0] > CLOSE * runners[0].seconds[0]) {
        --finalists;
    }
    for (int i = 0; i < (SAMPLES - 1) * finalists; ++i) {
        runner *runner = &runners[i % finalists];
        runner->seconds[1 + i / finalists] = sample(search, runner->number);
    }
    found->finalists = finalists;
    found->count = smaller(count, MOST_HEURISTICS);
    for (int i = 0; i < found->count; ++i) {
        heuristic *tried = &found->tried[i];
        search->matmul->chosen = runners[i].number;
        tried->seconds =
            i < finalists ? median(runners[i].seconds, SAMPLES) : runners[i].seconds[0];
        describe(search->matmul, search->problems[0], tried);
    }
}

void lt_matmul_search(lt_matmul *matmul, const problem *const *problems, size_t copies, int most,
                      bool enumerates, heuristics *found) {
    search search = {matmul, problems, copies, .best = INFINITY};
    take_shape(matmul, problems[0]);
    *found = (heuristics){.returned = matmul->heuristics};
    if (enumerates) {
        enumerate_configurations(matmul, found);
    }
    int count = enumerates ? matmul->count : smaller(most, matmul->heuristics);
    runner *runners = allocate((size_t)count, sizeof *runners);
    for (int i = 0; i < count; ++i) {
        runners[i].number = i;
    }
    if (count > MOST_SAMPLED) {
        count = rank_all(&search, runners, count, found);
    } else {
        found->timed = count;
    }
    sample_all(&search, runners, count, found);
    free(runners);
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
    describe(matmul, problem, &found->winner);
}
