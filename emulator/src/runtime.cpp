// CUDA's runtime: the device, launches, streams, events and memory.
#include "emulator/runtime.h"
#include "global_memory.h"
#include "machine.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <utility>

using namespace emulator;

const char *cudaGetErrorName(cudaError_t error) {
#define EMULATOR_ERROR_NAME(name, value, words) error == name ? #name:
    return EMULATOR_ERRORS(EMULATOR_ERROR_NAME) "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
#define EMULATOR_ERROR_WORDS(name, value, words) error == name ? words:
    return EMULATOR_ERRORS(EMULATOR_ERROR_WORDS) "unrecognized error code";
}

// ---------------------------------------------------------------------------- the device
constexpr std::size_t KB = 1024, SHARED_WITHOUT_ASKING = 48 * KB;
constexpr std::size_t RESERVED_SHARED = 1 * KB; // of each CTA, the system's
constexpr unsigned PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16;
constexpr int LARGEST_BLOCK_Z = 64, LARGEST_GRID_X = 0x7fffffff, LARGEST_GRID_YZ = 65535;
constexpr int MOST_THREADS = 2 * LARGEST_BLOCK, MOST_BLOCKS = 32; // of a multiprocessor
constexpr std::size_t MEMORY = std::size_t(80) << 30;
// Nothing takes time, and there is no cache: a model needs some numbers, and small products should
// exceed a cache.
constexpr int SOME_RATE = 1000 * 1000, SMALL_CACHE = 1 << 20;

// The GPU that the emulated device resembles, in what a program can query: EMULATOR_CAPABILITY in
// the environment names its compute capability, such as 8.6; without it that is 9.0. (CUDA C++
// Programming Guide: Technical Specifications per Compute Capability.)
struct Card {
    const char *name;         // "8.6"
    int capability;           // 86
    std::size_t shared_of_sm; // bytes

    // Dynamic shared memory that a CTA may request, in bytes.
    std::size_t largest_shared() const { return shared_of_sm - RESERVED_SHARED; }
    bool has_clusters() const { return capability >= 90; }
};

const Card CARDS[] = {{"8.0", 80, 164 * KB},  {"8.6", 86, 100 * KB}, {"8.7", 87, 164 * KB},
                      {"8.9", 89, 100 * KB},  {"9.0", 90, 228 * KB}, {"10.0", 100, 228 * KB},
                      {"12.0", 120, 100 * KB}};

// Ends the program with status 2 if there is no card of that name.
static const Card &find_card() {
    const char *chosen = std::getenv("EMULATOR_CAPABILITY");
    for (const Card &card : CARDS)
        if (std::strcmp(card.name, chosen != nullptr ? chosen : "9.0") == 0)
            return card;
    std::string names;
    for (const Card &card : CARDS)
        names += std::string(" ") + card.name;
    give_up("EMULATOR_CAPABILITY=%s: the emulator has%s", chosen, names.c_str());
}

static const Card &card() {
    static const Card &found = find_card();
    return found;
}

// Calls that cannot fail, and what they do.
#define EMULATOR_CALL(name, parameters, ...)                                                       \
    cudaError_t name parameters {                                                                  \
        __VA_ARGS__;                                                                               \
        return cudaSuccess;                                                                        \
    }
EMULATOR_CALL(cudaGetDevice, (int *device), *device = 0)
EMULATOR_CALL(cudaGetDeviceCount, (int *count), *count = 1)
EMULATOR_CALL(cudaRuntimeGetVersion, (int *version), *version = 0)
EMULATOR_CALL(cudaDriverGetVersion, (int *version), *version = 0)
EMULATOR_CALL(cudaMemGetInfo, (size_t * free, size_t *total), *free = *total = MEMORY)
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp properties;
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, device))
        return error;
    switch (attribute) {
#define EMULATOR_ATTRIBUTE(name, number, type, property, given)                                    \
    case cudaDevAttr##name:                                                                        \
        return *value = int(properties.property), cudaSuccess;
        EMULATOR_ATTRIBUTES(EMULATOR_ATTRIBUTE)
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    if (device != 0)
        return cudaErrorInvalidDevice;
    *properties = {.name = "the emulated device",
                   .totalGlobalMem = MEMORY,
                   .maxThreadsDim = {LARGEST_BLOCK, LARGEST_BLOCK, LARGEST_BLOCK_Z},
                   .maxGridSize = {LARGEST_GRID_X, LARGEST_GRID_YZ, LARGEST_GRID_YZ},
#define EMULATOR_GIVEN(name, number, type, property, value) .property = value,
                   EMULATOR_ATTRIBUTES(EMULATOR_GIVEN)};
    return cudaSuccess;
}

// ---------------------------------------------------------------------------- launches
static cudaError_t last_error = cudaSuccess;

// Remembers an error for cudaGetLastError.
static cudaError_t failed(cudaError_t error) { return last_error = error; }

// What cudaFuncSetAttribute allowed.
struct Allowed {
    std::size_t dynamic_shared = 0; // 0: never asked
    bool large_cluster = false;     // more than a portable one

    std::size_t most_dynamic() const { return std::max(dynamic_shared, SHARED_WITHOUT_ASKING); }
    // Of static and dynamic shared memory together.
    std::size_t most_shared() const {
        return dynamic_shared > 0 ? card().largest_shared() : SHARED_WITHOUT_ASKING;
    }
};
static std::map<const void *, Allowed> allowed_by_kernel;

// nullptr: a kernel that is not known by its address.
static Allowed allowed_to(const void *kernel) {
    return kernel != nullptr ? allowed_by_kernel[kernel] : Allowed{card().largest_shared(), true};
}

// What the launch gives for an attribute; nullptr: nothing.
static const cudaLaunchAttributeValue *given(const cudaLaunchConfig_t &config,
                                             cudaLaunchAttributeID id) {
    for (const cudaLaunchAttribute &attribute : std::span(config.attrs, config.numAttrs))
        if (attribute.id == id)
            return &attribute.val;
    return nullptr;
}

static dim3 cluster_of(const cudaLaunchConfig_t &config, const KernelBounds &bounds) {
    if (const auto *value = given(config, cudaLaunchAttributeClusterDimension))
        return {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    return bounds.cluster.x != 0 ? bounds.cluster : dim3(1);
}

// Whether it may begin while the previous launch still runs.
static bool is_early(const cudaLaunchConfig_t &config) {
    const auto *value = given(config, cudaLaunchAttributeProgrammaticStreamSerialization);
    return value != nullptr && value->programmaticStreamSerializationAllowed != 0;
}

static std::string shown(dim3 size) { return format("%u x %u x %u", size.x, size.y, size.z); }

// What CUDA says to a launch, and why.
static std::pair<cudaError_t, std::string> verdict_on(const cudaLaunchConfig_t &config,
                                                      const void *kernel, dim3 cluster,
                                                      const KernelBounds &bounds) {
    const Allowed allowed = allowed_to(kernel);
    const dim3 grid = config.gridDim, block = config.blockDim;
    const std::uint64_t threads = volume(block);
    std::string why;
    if (threads < 1 || threads > LARGEST_BLOCK || block.z > LARGEST_BLOCK_Z)
        why = format("a block of %s threads: 1 to %d, at most %u along z", shown(block).c_str(),
                     LARGEST_BLOCK, LARGEST_BLOCK_Z);
    else if (volume(grid) < 1 || grid.x > LARGEST_GRID_X || grid.y > LARGEST_GRID_YZ ||
             grid.z > LARGEST_GRID_YZ)
        why = format("a grid of %s CTAs: at least 1, at most %s", shown(grid).c_str(),
                     shown({LARGEST_GRID_X, LARGEST_GRID_YZ, LARGEST_GRID_YZ}).c_str());
    else if (bounds.threads > 0 && threads > std::uint64_t(bounds.threads))
        why = format("a block of %d threads, and the kernel's __launch_bounds__ allow %d",
                     int(threads), bounds.threads);
    else if (config.dynamicSmemBytes > allowed.most_dynamic())
        why = format("%zu bytes of dynamic shared memory, and the kernel may have %zu: "
                     "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) allows "
                     "more, up to %zu",
                     config.dynamicSmemBytes, allowed.most_dynamic(), card().largest_shared());
    if (!why.empty())
        return {cudaErrorInvalidValue, why};
    const unsigned portable = allowed.large_cluster ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    const unsigned largest = card().has_clusters() ? portable : 1;
    if (volume(cluster) < 1 || volume(cluster) > largest)
        why = format("a cluster of %s CTAs: 1 to %u%s", shown(cluster).c_str(), largest,
                     largest == PORTABLE_CLUSTER
                         ? ", or 16 after cudaFuncAttributeNonPortableClusterSizeAllowed"
                         : "");
    else if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        why = format("a grid of %s CTAs is not a multiple of its clusters of %s",
                     shown(grid).c_str(), shown(cluster).c_str());
    return {why.empty() ? cudaSuccess : cudaErrorInvalidClusterSize, why};
}

cudaError_t emulator::launch_kernel(const cudaLaunchConfig_st &config, const void *kernel,
                                    void (*call)(const void *context), const void *context,
                                    std::size_t bytes) {
    if (current_cluster != nullptr) // before the kernel is called for its bounds
        fail(Mistake::MISUSE, {}, "a kernel is launched from a kernel");
    KernelBounds bounds;
    if (translated_program)
        bounds = bounds_of_kernel(call, context);
    const dim3 cluster = cluster_of(config, bounds);
    const auto [error, why] = verdict_on(config, kernel, cluster, bounds);
    if (error != cudaSuccess) {
        say("launch", format("fails with %s: %s", cudaGetErrorName(error), why.c_str()));
        return failed(error);
    }
    set_register_pool(int(volume(config.blockDim)), bounds.ctas);
    forget_static_shared(allowed_to(kernel).most_shared());
    set_parameters(context, bytes);
    run_grid({config.gridDim, config.blockDim, cluster, config.dynamicSmemBytes, is_early(config),
              config.stream},
             [call, context] { call(context); });
    return cudaSuccess;
}

cudaError_t emulator::most_active_clusters(int *clusters, const void *kernel,
                                           const cudaLaunchConfig_st &config) {
    const dim3 cluster = cluster_of(config, {});
    const cudaError_t status = verdict_on(config, kernel, cluster, {}).first;
    *clusters = status == cudaSuccess ? std::max(1, int(MULTIPROCESSORS / volume(cluster))) : 0;
    return status == cudaErrorInvalidClusterSize ? failed(status) : cudaSuccess;
}

cudaError_t emulator::unknown_kernel() {
    say("launch", "a launch by an address fails with cudaErrorNotSupported: it gets a kernel's "
                  "address without its type: write <<<>>> or cudaLaunchKernelEx");
    return failed(cudaErrorNotSupported);
}

cudaError_t emulator::blocks_per_multiprocessor(int *blocks, int threads, std::size_t shared) {
    *blocks = 0;
    if (threads < 1 || threads > LARGEST_BLOCK)
        return failed(cudaErrorInvalidValue);
    const int rounded = (threads + WARP_LANES - 1) / WARP_LANES * WARP_LANES;
    const int by_shared = int(card().shared_of_sm / (shared + RESERVED_SHARED));
    *blocks = std::min({MOST_BLOCKS, MOST_THREADS / rounded, by_shared});
    return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    const std::size_t most = card().largest_shared();
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        allowed_by_kernel[kernel].large_cluster = value != 0;
    } else if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
               std::size_t(value) <= most) {
        allowed_by_kernel[kernel].dynamic_shared = std::size_t(value);
    } else if (attribute != cudaFuncAttributePreferredSharedMemoryCarveout) {
        say("runtime", format("cudaFuncSetAttribute fails: attribute %d, value %d; a CTA has at "
                              "most %zu bytes of shared memory",
                              int(attribute), value, most));
        return failed(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

// ---------------------------------------------------------------------------- streams
// What is launched on a stream runs at once; order.h knows what it is ordered after.
struct CUstream_st {};

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    *stream = new CUstream_st{};
    order::stream_created(*stream, flags == cudaStreamNonBlocking);
    return cudaSuccess;
}

// A stream's address is never used again: works on it are told by it.
EMULATOR_CALL(cudaStreamDestroy, (cudaStream_t), )
EMULATOR_CALL(cudaStreamSynchronize, (cudaStream_t stream), order::host_waits_for(stream))
EMULATOR_CALL(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned),
              order::wait_for_event(event, stream))
EMULATOR_CALL(cudaDeviceSynchronize, (), order::host_waits_for_all())

// ---------------------------------------------------------------------------- events
using SteadyClock = std::chrono::steady_clock;
struct CUevent_st {
    SteadyClock::time_point recorded;
};
EMULATOR_CALL(cudaEventCreate, (cudaEvent_t * event), *event = new CUevent_st{})
EMULATOR_CALL(cudaEventDestroy, (cudaEvent_t event), delete event)
EMULATOR_CALL(cudaEventSynchronize, (cudaEvent_t event), order::host_waits_for_event(event))
EMULATOR_CALL(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream),
              order::record_event(event, stream), event->recorded = SteadyClock::now())
EMULATOR_CALL(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t begin, cudaEvent_t end),
              *milliseconds =
                  std::chrono::duration<float, std::milli>(end->recorded - begin->recorded).count())

// ---------------------------------------------------------------------------- memory
// By the kind of memory; `...` are parameters that have no effect.
#define EMULATOR_ALLOCATE_AS(kind, name, ...)                                                      \
    cudaError_t name(void **memory, size_t bytes __VA_OPT__(, ) __VA_ARGS__) {                     \
        *memory = global_allocate(bytes, Kind::kind);                                              \
        return *memory || bytes == 0 ? cudaSuccess : failed(cudaErrorMemoryAllocation);            \
    }
EMULATOR_ALLOCATE_AS(DEVICE, cudaMalloc)
EMULATOR_ALLOCATE_AS(PAGE_LOCKED, cudaMallocHost)
EMULATOR_ALLOCATE_AS(MANAGED, cudaMallocManaged, unsigned)
EMULATOR_CALL(cudaFreeHost, (void *memory), global_free(memory, true))

static std::string wrong(const StreamAccess &access) {
    const auto &[memory, bytes, is_write, side] = access;
    const char *const does = is_write ? "writes" : "reads";
    const GlobalPlace place = global_place(memory, bytes);
    if (place == GlobalPlace::OUTSIDE || place == GlobalPlace::FREED)
        return global_mistake(does, memory, bytes);
    if (side == Side::HOST && place == GlobalPlace::INSIDE && is_device_memory(memory))
        return format("%s host memory at %p, which is the device's", does, memory);
    if (memory == nullptr || (side == Side::DEVICE && is_host_memory(memory)))
        return format("%s device memory at %p, which is none", does, memory);
    return "";
}

std::string emulator::access_on(const void *stream, const std::vector<StreamAccess> &accesses) {
    for (const StreamAccess &access : accesses)
        if (const std::string why = wrong(access); !why.empty())
            return why;
    order::begin_on(stream, false);
    for (const auto &[memory, bytes, is_write, side] : accesses)
        if (global_place(memory, bytes) == GlobalPlace::INSIDE || is_page_locked(memory))
            access_global(memory, bytes, {is_write, Site{}});
    order::end_work();
    return "";
}

// Says why a call fails, if it does.
static cudaError_t checked(const char *call, const std::string &why) {
    if (why.empty())
        return cudaSuccess;
    say("runtime", format("%s fails with cudaErrorInvalidValue: it %s", call, why.c_str()));
    return failed(cudaErrorInvalidValue);
}

cudaError_t cudaFree(void *memory) {
    if (memory == nullptr || global_free(memory))
        return cudaSuccess;
    return checked("cudaFree", format("frees %p, which no allocation begins at, or not "
                                      "any more",
                                      memory));
}

cudaError_t emulator::check_symbol(std::size_t offset, std::size_t bytes, std::size_t size) {
    if (offset <= size && bytes <= size - offset)
        return cudaSuccess;
    return checked("a copy of a symbol", format("touches %zu bytes at offset %zu of a variable of "
                                                "%zu bytes",
                                                bytes, offset, size));
}

static Side side_of(cudaMemcpyKind kind, cudaMemcpyKind to_host, cudaMemcpyKind to_device) {
    return kind == cudaMemcpyHostToHost || kind == to_host         ? Side::HOST
           : kind == cudaMemcpyDeviceToDevice || kind == to_device ? Side::DEVICE
                                                                   : Side::EITHER;
}

// The host waits, except that a copy from pageable memory may return before the last bytes have
// reached the device: rungs must not count on that. (CUDA Runtime API: API Synchronization
// Behavior.)
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    if (kind != cudaMemcpyHostToDevice || translated_program)
        order::host_waits_for(nullptr);
    return error;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (bytes == 0)
        return cudaSuccess;
    const Side target = side_of(kind, cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice);
    const Side source = side_of(kind, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
    const std::string why =
        access_on(stream, {{from, bytes, false, source}, {to, bytes, true, target}});
    if (const cudaError_t error = checked("cudaMemcpy", why))
        return error;
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, nullptr); // the host does not wait
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    if (bytes == 0)
        return cudaSuccess;
    if (const cudaError_t error = checked("cudaMemset", access_on(stream, {{memory, bytes, true}})))
        return error;
    std::memset(memory, (unsigned char)value, bytes);
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
    const bool found = std::string(symbol) == "cuTensorMapEncodeTiled";
    *function = found ? reinterpret_cast<void *>(&cuTensorMapEncodeTiled) : nullptr;
    if (result != nullptr)
        *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

void emulator_wrote(const void *begin, size_t bytes, const void *stream) {
    access_on(stream, {{begin, bytes, true, Side::EITHER}});
}
