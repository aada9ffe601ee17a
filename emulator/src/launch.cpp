// Launches: whether CUDA would start them, and starting them on the emulated machine; and what a
// kernel calls of the runtime.
#include "emulator/atomics.h"
#include "global_memory.h"
#include "machine.h"
#include "emulator/mbarrier.h"
#include "emulator/runtime.h"
#include "strictness.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace emulator {
namespace {

constexpr std::size_t SHARED_WITHOUT_ASKING = 48 * 1024;
constexpr unsigned PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16;
constexpr unsigned LARGEST_BLOCK_Z = 64, LARGEST_GRID_X = 0x7fffffff, LARGEST_GRID_YZ = 65535;

cudaError_t last_error = cudaSuccess;

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
std::map<const void *, Allowed> allowed_by_kernel;

// nullptr: a kernel that is not known by its address.
Allowed allowed_to(const void *kernel) {
    return kernel != nullptr ? allowed_by_kernel[kernel] : Allowed{card().largest_shared(), true};
}

// What the launch gives for an attribute; nullptr: nothing.
const cudaLaunchAttributeValue *given(const cudaLaunchConfig_t &config, cudaLaunchAttributeID id) {
    for (const cudaLaunchAttribute &attribute : std::span(config.attrs, config.numAttrs))
        if (attribute.id == id)
            return &attribute.val;
    return nullptr;
}

dim3 cluster_of(const cudaLaunchConfig_t &config, const KernelBounds &bounds) {
    if (const auto *value = given(config, cudaLaunchAttributeClusterDimension))
        return {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    return bounds.cluster.x != 0 ? bounds.cluster : dim3(1);
}

// Whether it may begin while the previous launch still runs.
bool is_early(const cudaLaunchConfig_t &config) {
    const auto *value = given(config, cudaLaunchAttributeProgrammaticStreamSerialization);
    return value != nullptr && value->programmaticStreamSerializationAllowed != 0;
}

std::string shown(dim3 size) { return format("%u x %u x %u", size.x, size.y, size.z); }

// What CUDA rejects of a launch's sizes; empty for nothing.
std::string wrong_size(const cudaLaunchConfig_t &config, const KernelBounds &bounds,
                       const Allowed &allowed) {
    const dim3 grid = config.gridDim, block = config.blockDim;
    const std::uint64_t threads = volume(block);
    if (threads < 1 || threads > LARGEST_BLOCK || block.z > LARGEST_BLOCK_Z)
        return format("a block of %s threads: 1 to %d, at most %u along z", shown(block).c_str(),
                      LARGEST_BLOCK, LARGEST_BLOCK_Z);
    if (volume(grid) < 1 || grid.x > LARGEST_GRID_X || grid.y > LARGEST_GRID_YZ ||
        grid.z > LARGEST_GRID_YZ)
        return format("a grid of %s CTAs: at least 1, at most %s", shown(grid).c_str(),
                      shown({LARGEST_GRID_X, LARGEST_GRID_YZ, LARGEST_GRID_YZ}).c_str());
    if (bounds.threads > 0 && threads > std::uint64_t(bounds.threads))
        return format("a block of %d threads, and the kernel's __launch_bounds__ allow %d",
                      int(threads), bounds.threads);
    if (config.dynamicSmemBytes > allowed.most_dynamic())
        return format("%zu bytes of dynamic shared memory, and the kernel may have %zu: "
                      "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) allows "
                      "more, up to %zu",
                      config.dynamicSmemBytes, allowed.most_dynamic(), card().largest_shared());
    return "";
}

std::string wrong_cluster(dim3 grid, dim3 cluster, const Allowed &allowed) {
    const unsigned portable = allowed.large_cluster ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    const unsigned largest = card().has_clusters() ? portable : 1;
    if (volume(cluster) < 1 || volume(cluster) > largest)
        return format("a cluster of %s CTAs: 1 to %u%s", shown(cluster).c_str(), largest,
                      largest == PORTABLE_CLUSTER
                          ? ", or 16 after cudaFuncAttributeNonPortableClusterSizeAllowed"
                          : "");
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        return format("a grid of %s CTAs is not a multiple of its clusters of %s",
                      shown(grid).c_str(), shown(cluster).c_str());
    return "";
}

// What CUDA says to a launch, and why.
std::pair<cudaError_t, std::string> verdict_on(const cudaLaunchConfig_t &config, const void *kernel,
                                               dim3 cluster, const KernelBounds &bounds) {
    const Allowed allowed = allowed_to(kernel);
    if (const std::string why = wrong_size(config, bounds, allowed); !why.empty())
        return {cudaErrorInvalidValue, why};
    const std::string why = wrong_cluster(config.gridDim, cluster, allowed);
    return {why.empty() ? cudaSuccess : cudaErrorInvalidClusterSize, why};
}

} // namespace

int failed(int error) {
    last_error = cudaError_t(error);
    return error;
}

int launch_kernel(const cudaLaunchConfig_st &config, const void *kernel,
                  void (*call)(const void *context), const void *context, std::size_t bytes) {
    KernelBounds bounds;
    if (translated_program)
        bounds = bounds_of_kernel(call, context);
    const dim3 cluster = cluster_of(config, bounds);
    const auto [error, why] = verdict_on(config, kernel, cluster, bounds);
    if (error != cudaSuccess) {
        say("launch", format("fails with %s: %s", cudaGetErrorName(error), why.c_str()));
        return failed(error);
    }
    if (!translated_program && (cluster.y != 1 || cluster.z != 1))
        fail(Mistake::MISUSE, "the emulator supports clusters along x only", {});
    set_register_pool(int(volume(config.blockDim)), bounds.ctas);
    forget_static_shared(allowed_to(kernel).most_shared());
    set_parameters(context, bytes);
    run_grid({config.gridDim, config.blockDim, cluster, config.dynamicSmemBytes, is_early(config),
              config.stream},
             [call, context] { call(context); });
    return cudaSuccess;
}

int most_active_clusters(int *clusters, const void *kernel, const cudaLaunchConfig_st &config) {
    const dim3 cluster = cluster_of(config, {});
    const cudaError_t status = verdict_on(config, kernel, cluster, {}).first;
    *clusters = status == cudaSuccess ? std::max(1, int(MULTIPROCESSORS / volume(cluster))) : 0;
    return status == cudaErrorInvalidClusterSize ? failed(status) : cudaSuccess;
}

int unknown_kernel(const char *call) {
    say("launch", format("%s fails with cudaErrorNotSupported: it gets a kernel's address without "
                         "its type: write <<<>>> or cudaLaunchKernelEx",
                         call));
    return failed(cudaErrorNotSupported);
}

int blocks_per_multiprocessor(int *blocks, int threads, std::size_t shared) {
    constexpr int MOST_THREADS = 2 * LARGEST_BLOCK, MOST_BLOCKS = 32;
    *blocks = 0;
    if (threads < 1 || threads > LARGEST_BLOCK)
        return failed(cudaErrorInvalidValue);
    const int rounded = (threads + WARP_LANES - 1) / WARP_LANES * WARP_LANES;
    const int by_shared = int(card().shared_of_sm / (shared + RESERVED_SHARED));
    *blocks = std::min({MOST_BLOCKS, MOST_THREADS / rounded, by_shared});
    return cudaSuccess;
}

// ---------------------------------------------------------------------------- a kernel's calls

void *dynamic_shared(std::size_t bytes, Site where) {
    const SharedMemory &shared = current->cta->shared;
    const std::size_t asked_for = shared.dynamic_size();
    if (bytes > asked_for)
        fail(Mistake::MISUSE,
             format("the kernel takes %zu bytes of dynamic shared memory, and the launch requested "
                    "%zu",
                    bytes, asked_for),
             {note_at(where, "taken here")});
    return shared.dynamic();
}

int cluster_cta_rank() { return current->cta->rank; }

int cluster_ctas() { return int(current_cluster->ctas.size()); }

void wait_for_launch_before() {
    schedule_point();
    order::waited_for_launch_before();
}

void fence_proxy_async(bool shared, bool global) {
    schedule_point();
    if (shared)
        order::fence_proxy(Space::SHARED, !translated_program);
    if (global)
        order::fence_proxy(Space::GLOBAL, !translated_program);
}

int count_arrival(int *counter, Site where) {
    return atomic_change(
        counter, [](int old) { return old + 1; }, Order::ACQ_REL, Scope::GPU, where);
}

void sleep() { schedule_point(); }

} // namespace emulator

cudaError_t cudaGetLastError() { return std::exchange(emulator::last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return emulator::last_error; }

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    using namespace emulator;
    const std::size_t most = card().largest_shared();
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return cudaSuccess;
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        allowed_by_kernel[kernel].large_cluster = value != 0;
    } else if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
               std::size_t(value) <= most) {
        allowed_by_kernel[kernel].dynamic_shared = std::size_t(value);
    } else {
        say("runtime", format("cudaFuncSetAttribute fails: attribute %d, value %d; a CTA has at "
                              "most %zu bytes of shared memory",
                              int(attribute), value, most));
        return cudaError_t(failed(cudaErrorInvalidValue));
    }
    return cudaSuccess;
}
