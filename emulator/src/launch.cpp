// Launches: whether CUDA would start them, and starting them on the emulated machine; and what a
// kernel calls of the runtime.
#include "emulator/atomics.h"
#include "emulator/barriers.h"
#include "card.h"
#include "global_memory.h"
#include "machine.h"
#include "emulator/mbarrier.h"
#include "emulator/runtime.h"
#include "strictness.h"

#include <cuda_runtime.h>

#include <map>

namespace emulator {
namespace {

constexpr std::size_t SHARED_WITHOUT_ASKING = 48 * 1024;
constexpr unsigned PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16;
constexpr unsigned LARGEST_BLOCK_Z = 64;
constexpr unsigned LARGEST_GRID_X = 0x7fffffff;
constexpr unsigned LARGEST_GRID_YZ = 65535;

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
    if (kernel == nullptr)
        return {card().largest_shared(), true};
    const auto found = allowed_by_kernel.find(kernel);
    return found == allowed_by_kernel.end() ? Allowed{} : found->second;
}

dim3 cluster_of(const cudaLaunchConfig_t &config, dim3 cluster = dim3(1)) {
    for (unsigned i = 0; i < config.numAttrs; ++i)
        if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
            const auto &asked = config.attrs[i].val.clusterDim;
            cluster = dim3(asked.x, asked.y, asked.z);
        }
    return cluster;
}

// Whether it may begin while the previous launch still runs.
bool is_early(const cudaLaunchConfig_t &config) {
    for (unsigned i = 0; i < config.numAttrs; ++i)
        if (config.attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization)
            return config.attrs[i].val.programmaticStreamSerializationAllowed != 0;
    return false;
}

std::string shown(dim3 size) { return format("%u x %u x %u", size.x, size.y, size.z); }

// What CUDA says to a launch, and why.
struct Verdict {
    cudaError_t error = cudaSuccess;
    std::string why{};
};

Verdict verdict_on_sizes(const cudaLaunchConfig_t &config, const KernelBounds &bounds) {
    const dim3 grid = config.gridDim, block = config.blockDim;
    const std::uint64_t threads = volume(block);
    if (threads < 1 || threads > LARGEST_BLOCK || block.z > LARGEST_BLOCK_Z)
        return {cudaErrorInvalidConfiguration,
                format("a block of %s threads: 1 to %d, at most %u along z", shown(block).c_str(),
                       LARGEST_BLOCK, LARGEST_BLOCK_Z)};
    if (volume(grid) < 1 || grid.x > LARGEST_GRID_X || grid.y > LARGEST_GRID_YZ ||
        grid.z > LARGEST_GRID_YZ)
        return {cudaErrorInvalidConfiguration,
                format("a grid of %s CTAs: at least 1, at most %s", shown(grid).c_str(),
                       shown({LARGEST_GRID_X, LARGEST_GRID_YZ, LARGEST_GRID_YZ}).c_str())};
    if (bounds.threads > 0 && threads > std::uint64_t(bounds.threads))
        return {cudaErrorInvalidValue,
                format("a block of %llu threads, and the kernel's __launch_bounds__ allow %d",
                       static_cast<unsigned long long>(threads), bounds.threads)};
    return {};
}

Verdict verdict_on_cluster(dim3 grid, dim3 cluster, const Allowed &allowed) {
    const unsigned portable = allowed.large_cluster ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    const unsigned largest = card().has_clusters() ? portable : 1;
    if (volume(cluster) < 1 || volume(cluster) > largest)
        return {cudaErrorInvalidClusterSize,
                format("a cluster of %s CTAs: 1 to %u%s", shown(cluster).c_str(), largest,
                       largest == PORTABLE_CLUSTER
                           ? ", or 16 after cudaFuncAttributeNonPortableClusterSizeAllowed"
                           : "")};
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        return {cudaErrorInvalidClusterSize,
                format("a grid of %s CTAs is not a multiple of its clusters of %s",
                       shown(grid).c_str(), shown(cluster).c_str())};
    return {};
}

Verdict verdict_on(const cudaLaunchConfig_t &config, const void *kernel, dim3 cluster,
                   const KernelBounds &bounds) {
    const Verdict sizes = verdict_on_sizes(config, bounds);
    const Allowed allowed = allowed_to(kernel);
    if (sizes.error != cudaSuccess)
        return sizes;
    if (config.dynamicSmemBytes > allowed.most_dynamic())
        return {cudaErrorInvalidValue,
                format("%zu bytes of dynamic shared memory, and the kernel may have %zu: "
                       "cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) allows "
                       "more, up to %zu",
                       config.dynamicSmemBytes, allowed.most_dynamic(), card().largest_shared())};
    return verdict_on_cluster(config.gridDim, cluster, allowed);
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
    const dim3 cluster = cluster_of(config, bounds.cluster.x != 0 ? bounds.cluster : dim3(1));
    const Verdict verdict = verdict_on(config, kernel, cluster, bounds);
    if (verdict.error != cudaSuccess) {
        say("launch",
            format("fails with %s: %s", cudaGetErrorName(verdict.error), verdict.why.c_str()));
        return failed(verdict.error);
    }
    Grid grid{};
    grid.grid = config.gridDim;
    grid.block = config.blockDim;
    grid.cluster = cluster;
    grid.dynamic_shared = config.dynamicSmemBytes;
    grid.early = is_early(config);
    grid.stream = config.stream;
    if (!translated_program && (grid.cluster.y != 1 || grid.cluster.z != 1))
        fail(Mistake::MISUSE, "the emulator supports clusters along x only", {});
    set_register_pool(int(volume(config.blockDim)), bounds.ctas);
    forget_static_shared(allowed_to(kernel).most_shared());
    set_parameters(context, bytes);
    run_grid(grid, [call, context] { call(context); });
    return cudaSuccess;
}

int most_active_clusters(int *clusters, const void *kernel, const cudaLaunchConfig_st &config) {
    const cudaError_t status = verdict_on(config, kernel, cluster_of(config), {}).error;
    *clusters = 0;
    if (status == cudaErrorInvalidClusterSize)
        return failed(status);
    if (status == cudaSuccess)
        *clusters = std::max(1, int(MULTIPROCESSORS / volume(cluster_of(config))));
    return cudaSuccess;
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

int blocks_of_device(int *blocks, int threads, std::size_t shared) {
    const int error = blocks_per_multiprocessor(blocks, threads, shared);
    *blocks *= MULTIPROCESSORS;
    return error;
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
    const int before = atomic_change(
        counter, [](int old) { return old + 1; }, Order::ACQ_REL, Scope::GPU, where);
    return before;
}

void sleep() { schedule_point(); }

} // namespace emulator

cudaError_t cudaGetLastError() { return std::exchange(emulator::last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return emulator::last_error; }

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return cudaSuccess;
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        emulator::allowed_by_kernel[kernel].large_cluster = value != 0;
        return cudaSuccess;
    }
    const std::size_t most = emulator::card().largest_shared();
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        std::size_t(value) > most) {
        emulator::say("runtime",
                      emulator::format("cudaFuncSetAttribute fails: attribute %d, value "
                                       "%d; a CTA has at most %zu bytes of shared memory",
                                       int(attribute), value, most));
        return cudaError_t(emulator::failed(cudaErrorInvalidValue));
    }
    emulator::allowed_by_kernel[kernel].dynamic_shared = std::size_t(value);
    return cudaSuccess;
}
