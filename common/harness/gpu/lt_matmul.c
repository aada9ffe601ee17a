#include "harness/gpu/cublas.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffers.h"
#include "harness/message.h"

/* What cuBLAS's documentation recommends for Hopper. */
static const size_t WORKSPACE_BYTES = (size_t)32 << 20;

struct lt_matmul {
    enum computation computes;
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

lt_matmul *lt_matmul_open(enum computation computes, struct CUstream_st *stream) {
    lt_matmul *matmul = allocate(1, sizeof *matmul);
    matmul->computes = computes;
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
    return matmul->computes == GEMM_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static cudaDataType_t output_type(const lt_matmul *matmul) {
    return matmul->computes == ADDMM_FP16 ? CUDA_R_32F : operand_type(matmul);
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
    cublas_check(cublasLtMatmulDescSetAttribute(matmul->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                                &transposed, sizeof transposed),
                 what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->b, type, k, n, (int64_t)k), what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->a, type, k, m, (int64_t)k), what);
    cublas_check(cublasLtMatrixLayoutCreate(&matmul->d, output_type(matmul), n, m, (int64_t)n),
                 what);
}

/* Describes the product and asks for its algorithms, once. Where k is split, partial sums are not
 * to be rounded to the output's format before they are added: the rungs do not do that either. */
static void take_shape(lt_matmul *matmul, const problem *problem) {
    static const char what[] = "asking cuBLASLt for its algorithms";
    const uint32_t reductions =
        (uint32_t)CUBLASLT_REDUCTION_SCHEME_MASK & ~(uint32_t)CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
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
    cublas_check(cublasLtMatmulAlgoGetHeuristic(matmul->handle, matmul->operation, matmul->b,
                                                matmul->a, matmul->d, matmul->d, preference,
                                                MOST_HEURISTICS, found, &count),
                 what);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; i < count; ++i) {
        append(matmul, &found[i].algo);
    }
    matmul->heuristics = matmul->count;
}

int lt_matmul_count(lt_matmul *matmul, const problem *problem) {
    take_shape(matmul, problem);
    return matmul->heuristics;
}

/* ---- every configuration */

/* A library may list more than can be checked. Then the rest is left out: so many are kept at most,
 * and so many seconds are taken. */
enum { MOST_CONFIGURATIONS = 2048, MOST_CUSTOM_OPTIONS = 64 };
static const double ENUMERATION_SECONDS = 8; /* for tiles and clusters, and as many for options */

typedef struct enumeration {
    lt_matmul *matmul;
    uint32_t tiles[CUBLASLT_MATMUL_TILE_END]; /* [tile_count] */
    size_t tile_count;
    uint32_t custom_options;
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

/* What cannot be set does not pass the check either. */
static void set_tile(cublasLtMatmulAlgo_t *algorithm, uint32_t tile) {
    (void)cublasLtMatmulAlgoConfigSetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile,
                                               sizeof tile);
}

static void set_cluster(cublasLtMatmulAlgo_t *algorithm, uint16_t cluster) {
    (void)cublasLtMatmulAlgoConfigSetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
                                               &cluster, sizeof cluster);
}

static void set_custom_option(cublasLtMatmulAlgo_t *algorithm, uint32_t option) {
    (void)cublasLtMatmulAlgoConfigSetAttribute(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
                                               &option, sizeof option);
}

/* The tiles that an algorithm says it has (0 alone if it says nothing), and its custom options. */
static void ask_capabilities(enumeration *e, const cublasLtMatmulAlgo_t *algorithm) {
    size_t bytes = 0; /* queried first: the second call wants the exact size */
    uint32_t last = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, NULL, 0, &bytes) ==
            CUBLAS_STATUS_SUCCESS &&
        bytes <= sizeof e->tiles &&
        cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_TILE_IDS, e->tiles, bytes,
                                          &bytes) == CUBLAS_STATUS_SUCCESS) {
        e->tile_count = bytes / sizeof *e->tiles;
    }
    if (e->tile_count == 0) {
        e->tiles[e->tile_count++] = 0;
    }
    if (cublasLtMatmulAlgoCapGetAttribute(algorithm, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, &last,
                                          sizeof last, &bytes) != CUBLAS_STATUS_SUCCESS) {
        last = 0;
    }
    e->custom_options = last < MOST_CUSTOM_OPTIONS ? last + 1 : MOST_CUSTOM_OPTIONS;
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

static void append_if_new(enumeration *e, const cublasLtMatmulAlgo_t *algorithm) {
    ++e->checks;
    if (takes_shape(e->matmul, algorithm) && find(e->matmul, algorithm) == e->matmul->count) {
        append(e->matmul, algorithm);
    }
}

/* What an algorithm is beside its tile and cluster. */
static cublasLtMatmulAlgo_t rest_of(cublasLtMatmulAlgo_t algorithm) {
    set_tile(&algorithm, 0);
    set_cluster(&algorithm, 0);
    return algorithm;
}

/* Whether no heuristic before it has the same rest. */
static bool is_first_of_kind(const lt_matmul *matmul, int number) {
    const cublasLtMatmulAlgo_t rest = rest_of(matmul->algorithms[number]);
    bool first = true;
    for (int i = 0; i < number; ++i) {
        const cublasLtMatmulAlgo_t other = rest_of(matmul->algorithms[i]);
        first = first && memcmp(&rest, &other, sizeof rest) != 0;
    }
    return first;
}

int lt_matmul_enumerate(lt_matmul *matmul) {
    static enumeration e; /* too large for the stack */
    e = (enumeration){.matmul = matmul, .begin = monotonic_seconds(), .limit = ENUMERATION_SECONDS};
    if (matmul->heuristics > 0) {
        ask_capabilities(&e, &matmul->algorithms[0]);
    }
    /* All tiles and clusters that go with the rest of a heuristic's configuration ... */
    for (int i = 0; i < matmul->heuristics; ++i) {
        cublasLtMatmulAlgo_t algorithm = matmul->algorithms[i];
        const size_t tiles = is_first_of_kind(matmul, i) ? e.tile_count : 0;
        for (size_t tile = 0; tile < tiles; ++tile) {
            set_tile(&algorithm, e.tiles[tile]);
            for (uint16_t j = 0; j < CUBLASLT_CLUSTER_SHAPE_END && !ended(&e); ++j) {
                set_cluster(&algorithm, j);
                append_if_new(&e, &algorithm);
            }
        }
    }
    /* ... and all custom options of what has been found so far. */
    const int found = matmul->count;
    e.limit += ENUMERATION_SECONDS;
    for (int i = 0; i < found; ++i) {
        cublasLtMatmulAlgo_t algorithm = matmul->algorithms[i];
        for (uint32_t j = 0; j < e.custom_options && !ended(&e); ++j) {
            set_custom_option(&algorithm, j);
            append_if_new(&e, &algorithm);
        }
    }
    message("cuBLASLt lists %zu tiles, %d cluster shapes and %u custom options: %zu checks in "
            "%.1f s, %d configurations%s",
            e.tile_count, (int)CUBLASLT_CLUSTER_SHAPE_END, (unsigned)e.custom_options, e.checks,
            monotonic_seconds() - e.begin, matmul->count, e.cut ? "; not all were looked at" : "");
    return matmul->count;
}

/* ---- one of them as text */

int lt_matmul_restore(lt_matmul *matmul, const problem *problem, const char *digits) {
    unsigned char bytes[ALGORITHM_DIGITS / 2];
    cublasLtMatmulAlgo_t algorithm;
    _Static_assert(sizeof bytes == sizeof algorithm, "two digits are a byte");
    for (size_t i = 0; i < sizeof bytes; ++i) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    memcpy(&algorithm, bytes, sizeof algorithm);
    take_shape(matmul, problem);
    matmul->chosen = find(matmul, &algorithm);
    if (matmul->chosen == matmul->count) {
        if (!takes_shape(matmul, &algorithm)) {
            return -1;
        }
        append(matmul, &algorithm);
    }
    return matmul->chosen;
}

void lt_matmul_choose(lt_matmul *matmul, int algorithm) { matmul->chosen = algorithm; }

cublasStatus_t lt_matmul_launch(lt_matmul *matmul, const problem *problem) {
    const float one = 1.0f;
    const float zero = 0.0f;
    const bool scaled = matmul->computes == ADDMM_FP16;
    take_shape(matmul, problem);
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

void lt_matmul_describe(lt_matmul *matmul, const problem *problem, heuristic *described) {
    static const char what[] = "capturing a call to see its kernels";
    const unsigned char *bytes = (const unsigned char *)&matmul->algorithms[matmul->chosen];
    cudaGraph_t graph = NULL;
    for (size_t i = 0; i < ALGORITHM_DIGITS / 2; ++i) {
        snprintf(&described->algorithm[2 * i], 3, "%02x", (unsigned)bytes[i]);
    }
    cuda_check(cudaStreamBeginCapture(matmul->stream, cudaStreamCaptureModeThreadLocal), "%s",
               what);
    cublas_check(lt_matmul_launch(matmul, problem), "asking cuBLASLt for its kernels");
    cuda_check(cudaStreamEndCapture(matmul->stream, &graph), "%s", what);
    list_names(graph, described->name, sizeof described->name);
    (void)cudaGraphDestroy(graph); /* only names were wanted of it */
}
