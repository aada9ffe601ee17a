#include "harness/gpu/kernel_names.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/cuda_failed.h"
#include "harness/message.h"

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

static int find(const char *name, void *function, size_t size) {
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    if (cuda_failed(
            cudaGetDriverEntryPointByVersion(name, &found, CUDA_12_3, cudaEnableDefault, &result),
            "asking the driver for %s", name)) {
        return 1;
    }
    if (result != cudaDriverEntryPointSuccess) {
        message("this driver has no %s: install one for CUDA 12.3 or later", name);
        return 1;
    }
    /* ISO C has no conversion between pointers to data and to functions; POSIX promises it. */
    __builtin_memcpy(function, &found, size);
    return 0;
}

static int open_driver(driver *driver) {
    return find("cuGraphKernelNodeGetParams", &driver->params, sizeof driver->params) != 0 ||
           find("cuFuncGetName", &driver->function, sizeof driver->function) != 0 ||
           find("cuKernelGetName", &driver->kernel, sizeof driver->kernel) != 0;
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

static int list_names(cudaGraph_t graph, char *text, size_t size) {
    driver driver;
    cudaGraphNode_t nodes[MOST_NODES];
    size_t count = MOST_NODES;
    size_t used = 0;
    text[0] = '\0';
    if (open_driver(&driver) != 0 ||
        cuda_failed(cudaGraphGetNodes(graph, nodes, &count), "listing a graph's kernels")) {
        return 1;
    }
    for (size_t i = 0; i < count && used < size; ++i) {
        const char *name = name_of_node(&driver, nodes[i]);
        const int length =
            name == NULL ? 0
                         : snprintf(text + used, size - used, "%s%s", used == 0 ? "" : " + ", name);
        used += length > 0 ? (size_t)length : 0;
    }
    return 0;
}

int kernel_names(struct CUstream_st *stream, int (*enqueue)(void *context), void *context,
                 char *text, size_t size) {
    cudaGraph_t graph = NULL;
    if (cuda_failed(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                    "capturing a call to see its kernels")) {
        return 1;
    }
    int failed = enqueue(context);
    /* The capture has to be ended in any case: until then the stream runs nothing. */
    failed =
        cuda_failed(cudaStreamEndCapture(stream, &graph), "capturing a call to see its kernels") ||
        failed != 0;
    failed = failed || list_names(graph, text, size) != 0;
    if (graph != NULL) {
        (void)cudaGraphDestroy(graph); /* only names were wanted of it */
    }
    return failed;
}
