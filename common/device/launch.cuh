// Host side of a launch: query what fits, opt in to large shared memory, launch. Every function
// checks the calls it makes; on failure it prints one line to stderr and returns non-zero.
#pragma once

#include "device/base.cuh"
#include "device/tile_schedule.h"
#include "step.h"

#include <stdio.h>

// The harness' end of a program whose rung this device cannot run; none in a standalone file.
extern "C" __attribute__((weak)) void step_cannot_run(const char *why);

// Prints what failed, with the runtime's own words. Returns 0 for cudaSuccess, else 1.
inline int launch_check(cudaError_t status, const char *doing) {
    if (status == cudaSuccess)
        return 0;
    fprintf(stderr, "%s failed: %s: %s\n", doing, cudaGetErrorName(status),
            cudaGetErrorString(status));
    return 1;
}

// The same with a number that the message shows.
inline int launch_check(cudaError_t status, const char *doing, long long value) {
    if (status == cudaSuccess)
        return 0;
    char with_value[128];
    snprintf(with_value, sizeof(with_value), "%s (%lld)", doing, value);
    return launch_check(status, with_value);
}

// Stores an attribute of the current device in *value.
inline int device_attribute(int *value, cudaDeviceAttr attribute, const char *asking) {
    int device = 0;
    return launch_check(cudaGetDevice(&device), "asking for the current device") ||
           launch_check(cudaDeviceGetAttribute(value, attribute, device), asking, device);
}

// Stores the number of multiprocessors of the current device in *count.
inline int multiprocessor_count(int *count) {
    return device_attribute(count, cudaDevAttrMultiProcessorCount,
                            "asking for the number of multiprocessors of device");
}

// Stores in *ctas how many CTAs to launch for `tiles` tiles if an SM holds one: the fewest that
// finish in the same number of waves as one on every SM.
inline int balanced_ctas(int *ctas, int tiles) {
    if (multiprocessor_count(ctas))
        return 1;
    *ctas = balanced_workers(tiles, *ctas);
    return 0;
}

// Stores the size of the current device's L2 in *bytes.
inline int l2_size(int *bytes) {
    return device_attribute(bytes, cudaDevAttrL2CacheSize, "asking for the L2 of device");
}

// Stores the highest clock of the current device's SMs in *hertz, and in *bytes what its memory
// moves at most in a cycle of that clock. The memory moves data at both edges of its own clock. The
// driver takes its time for clocks: it is asked once in a process. (CUDA Runtime API:
// cudaDeviceAttr.)
inline int clock_and_memory(double *hertz, double *bytes) {
    static int clock = 0, memory_clock = 0, bits = 0; // kHz, kHz, of the memory's bus
    if (clock == 0 &&
        (device_attribute(&memory_clock, cudaDevAttrMemoryClockRate,
                          "asking for the memory's clock of device") ||
         device_attribute(&bits, cudaDevAttrGlobalMemoryBusWidth,
                          "asking for the width of the memory's bus of device") ||
         device_attribute(&clock, cudaDevAttrClockRate, "asking for the SMs' clock of device")))
        return 1;
    *hertz = 1e3 * clock;
    *bytes = 2.0 * memory_clock * bits / 8 / clock;
    return 0;
}

// Stores in *bytes how much dynamic shared memory a CTA can have on the current device: 227 KB on
// 9.0 and 10.0, 163 KB on 8.0 and 8.7, 99 KB on 8.6, 8.9 and 12.0.
inline int max_dynamic_smem(int *bytes) {
    return device_attribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                            "asking for the shared memory of device");
}

// Stores in *bytes how much dynamic shared memory a CTA has to request, if it has no static shared
// memory, so that at most `ctas` CTAs fit on one SM of the current device; `least` where a CTA
// needs more than that. (CUDA C++ Programming Guide: Compute Capability 9.x, Shared Memory: the
// system reserves some.)
inline int smem_of_ctas_per_sm(size_t *bytes, int ctas, size_t least) {
    int whole = 0, reserved = 0;
    if (device_attribute(&whole, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                         "asking for the shared memory of an SM of device") ||
        device_attribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock,
                         "asking for the reserved shared memory of a CTA on device"))
        return 1;
    const size_t share = size_t(whole / ctas - reserved);
    *bytes = share > least ? share : least;
    return 0;
}

// Lets `kernel` use `bytes` of dynamic shared memory; without this a launch gets 48 KB at most.
// (CUDA C++ Programming Guide: Shared Memory, compute capability 7.x and later.)
template <typename Kernel>
int allow_dynamic_smem(Kernel *kernel, size_t bytes) {
    int most = 0;
    if (max_dynamic_smem(&most))
        return 1;
    if (bytes > size_t(most)) {
        char why[128];
        snprintf(why, sizeof(why), "a CTA needs %zu bytes of shared memory, and this GPU has %d",
                 bytes, most);
        if (step_cannot_run != nullptr)
            step_cannot_run(why);
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    return launch_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)),
        "allowing the kernel this many bytes of dynamic shared memory", (long long)bytes);
}

// A launch configuration; cluster = dim3(1) is a launch without clusters. It cannot be copied:
// config.attrs points into the object itself.
struct LaunchConfig {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attributes[2] = {};

    LaunchConfig(const LaunchConfig &) = delete;
    LaunchConfig &operator=(const LaunchConfig &) = delete;
    LaunchConfig(dim3 grid, dim3 block, dim3 cluster, size_t smem, cudaStream_t stream,
                 bool early = false) {
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = smem;
        config.stream = stream;
        if (cluster.x * cluster.y * cluster.z > 1) {
            cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
            attribute.id = cudaLaunchAttributeClusterDimension;
            attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
        }
        if (early) {
            cudaLaunchAttribute &attribute = attributes[config.numAttrs++];
            attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute.val.programmaticStreamSerializationAllowed = 1;
        }
        config.attrs = attributes;
    }
};

// Stores in *clusters how many clusters of this shape can be resident on the device at once. It is
// not SMs / cluster size: a cluster lives inside one GPC, and GPCs differ in their SMs.
// (CUDA Runtime API: cudaOccupancyMaxActiveClusters.)
template <typename Kernel>
int max_active_clusters(int *clusters, Kernel *kernel, dim3 block, dim3 cluster, size_t smem) {
    const LaunchConfig launch(cluster, block, cluster, smem, nullptr);
    if (launch_check(cudaOccupancyMaxActiveClusters(clusters, kernel, &launch.config),
                     "asking how many clusters fit, CTAs per cluster",
                     cluster.x * cluster.y * cluster.z))
        return 1;
    if (*clusters > 0)
        return 0;
    fprintf(stderr, "no cluster of %u CTAs with %zu bytes of shared memory each fits on this GPU\n",
            cluster.x * cluster.y * cluster.z, smem);
    return 1;
}

// balanced_ctas() for clusters of this shape: at most as many as fit, with a tile each.
template <typename Kernel>
int balanced_clusters(int *clusters, int tiles, Kernel *kernel, dim3 block, dim3 cluster,
                      size_t smem) {
    if (max_active_clusters(clusters, kernel, block, cluster, smem))
        return 1;
    *clusters = balanced_workers(tiles, *clusters);
    return 0;
}

// Stores in clusters[i], for each i from 1 to `most`, how many clusters of i CTAs can be resident
// on the current device at once: none may fit. `kernel` is any of which an SM holds one CTA.
template <typename Kernel>
int resident_clusters(int *clusters, int most, Kernel *kernel, dim3 block, size_t smem) {
    if (multiprocessor_count(&clusters[1])) // the runtime counts clusters of two and more
        return 1;
    for (int i = 2; i <= most; ++i) {
        const LaunchConfig launch(dim3(i), block, dim3(i), smem, nullptr);
        if (launch_check(cudaOccupancyMaxActiveClusters(&clusters[i], kernel, &launch.config),
                         "asking how many clusters fit, CTAs per cluster", i))
            return 1;
    }
    return 0;
}

// A grid of `columns` x `rows` CTAs, each at (blockIdx.x, grid_row()); blockIdx.x varies fastest.
// gridDim.y is limited to 65535, so further rows go to z; then some CTAs may be past the last row.
// (CUDA C++ Programming Guide: Features and Technical Specifications.)
inline dim3 grid_of(int columns, int rows) {
    constexpr int MOST_IN_Y = 65535;
    const int z = ceil_div(rows, MOST_IN_Y);
    return dim3(columns, ceil_div(rows, z), z);
}
DEVICE int grid_row() { return blockIdx.z * gridDim.y + blockIdx.y; }

// Starts `kernel` on `stream` with `smem` bytes of dynamic shared memory, and returns at once.
template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, dim3 cluster, size_t smem,
           cudaStream_t stream, const Arguments &...arguments) {
    const LaunchConfig launch(grid, block, cluster, smem, stream);
    return launch_check(cudaLaunchKernelEx(&launch.config, kernel, Parameters(arguments)...),
                        "launching the kernel, CTAs in x", grid.x);
}

// The same; if `early` is true, the kernel may begin before the previous launch on `stream` has
// ended. The kernel has to call wait_for_launch_before() (dependent_launch.cuh) before it reads
// what earlier launches write, and before it writes what they read or write.
template <typename... Parameters, typename... Arguments>
int launch_early(bool early, void (*kernel)(Parameters...), dim3 grid, dim3 block, dim3 cluster,
                 size_t smem, cudaStream_t stream, const Arguments &...arguments) {
    const LaunchConfig launch(grid, block, cluster, smem, stream, early);
    return launch_check(cudaLaunchKernelEx(&launch.config, kernel, Parameters(arguments)...),
                        early ? "launching the kernel early, CTAs in x"
                              : "launching the kernel, CTAs in x",
                        grid.x);
}

// Copies `count` elements to new device memory and returns its address, or nullptr after printing
// one line. When it returns, the copy has arrived, so launches on any stream may read it. That is
// why it doesn't use cudaMemcpy: of pageable memory that may return early, and only launches on
// blocking streams would wait for it. It waits for this copy alone, on a stream of its own. Free
// the memory with release_array. (CUDA Runtime API: API synchronization behavior.)
template <typename T>
T *upload_array(const T *elements, size_t count) {
    const size_t bytes = count * sizeof(T);
    T *uploaded = nullptr;
    cudaStream_t stream = nullptr;
    if (launch_check(cudaMalloc(&uploaded, bytes), "allocating device memory, bytes",
                     (long long)bytes))
        return nullptr;
    const int failed =
        launch_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                     "making a stream for an upload") ||
        launch_check(cudaMemcpyAsync(uploaded, elements, bytes, cudaMemcpyHostToDevice, stream),
                     "copying to the device, bytes", (long long)bytes) ||
        launch_check(cudaStreamSynchronize(stream), "waiting for a copy to the device, bytes",
                     (long long)bytes);
    if (stream != nullptr)
        cudaStreamDestroy(stream);
    if (!failed)
        return uploaded;
    cudaFree(uploaded);
    return nullptr;
}

// Allocates `count` elements of device memory, which hold anything. Free them with release_array.
template <typename T>
int allocate_array(T **array, size_t count) {
    const size_t bytes = count * sizeof(T);
    return launch_check(cudaMalloc(array, bytes), "allocating device memory, bytes",
                        (long long)bytes);
}

// Frees what upload_array or allocate_array allocated; nullptr is nothing to free.
inline void release_array(void *array) {
    launch_check(cudaFree(array), "freeing device memory at", (long long)(uintptr_t)array);
}

// Runs the program around a rung whose State, all zeros at first, has what a launch needs:
// prepare(problem) makes it, start(problem) calls launch(), and the destructor frees it. See
// step.h.
template <typename State>
int run_step(step rung, int argc, char **argv) {
    rung.prepare = [](const problem *p, void **state) {
        State *made = new State{};
        *state = made;
        return made->prepare(p);
    };
    rung.launch = [](const problem *p, void *state) {
        return static_cast<State *>(state)->start(p);
    };
    rung.release = [](void *state) { delete static_cast<State *>(state); };
    return step_main(&rung, argc, argv);
}
