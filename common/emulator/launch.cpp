// Launches: whether CUDA would start them, and starting them on the emulated machine; and what a
// kernel calls of the runtime.
#include "emulator/card.h"
#include "emulator/global_memory.h"
#include "emulator/launch_order.h"
#include "emulator/machine.h"
#include "emulator/mbarrier.h"
#include "emulator/runtime.h"
#include "emulator/strictness.h"

#include <cuda_runtime.h>

#include <map>

namespace emulator {
namespace {

constexpr std::size_t SHARED_WITHOUT_ASKING = 48 * 1024;
constexpr unsigned LARGEST_CLUSTER = 8;
constexpr unsigned LARGEST_BLOCK_Z = 64;
constexpr unsigned LARGEST_GRID_X = 0x7fffffff;
constexpr unsigned LARGEST_GRID_YZ = 65535;

cudaError_t last_error = cudaSuccess;

// What cudaFuncSetAttribute allowed, by kernel. Static shared memory does not count: how much of it
// each kernel has is not known here.
std::map<const void *, std::size_t> &allowed_shared() {
    static std::map<const void *, std::size_t> allowed;
    return allowed;
}

// nullptr: a kernel that is not known by its address.
std::size_t most_dynamic_shared(const void *kernel) {
    if (kernel == nullptr)
        return card().largest_shared();
    const auto found = allowed_shared().find(kernel);
    return found == allowed_shared().end() ? SHARED_WITHOUT_ASKING
                                           : std::max(found->second, SHARED_WITHOUT_ASKING);
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

bool cluster_fits(dim3 grid, dim3 cluster) {
    const unsigned largest = card().has_clusters() ? LARGEST_CLUSTER : 1;
    return volume(cluster) >= 1 && volume(cluster) <= largest && grid.x % cluster.x == 0 &&
           grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
}

bool grid_fits(dim3 grid, dim3 block) {
    const std::uint64_t threads = volume(block);
    const bool block_fits = threads >= 1 && threads <= LARGEST_BLOCK && block.z <= LARGEST_BLOCK_Z;
    return block_fits && volume(grid) >= 1 && grid.x <= LARGEST_GRID_X &&
           grid.y <= LARGEST_GRID_YZ && grid.z <= LARGEST_GRID_YZ;
}

// What CUDA says to this launch.
cudaError_t verdict(const cudaLaunchConfig_t &config, const void *kernel, dim3 cluster) {
    if (!grid_fits(config.gridDim, config.blockDim) ||
        config.dynamicSmemBytes > most_dynamic_shared(kernel))
        return cudaErrorInvalidValue;
    return cluster_fits(config.gridDim, cluster) ? cudaSuccess : cudaErrorInvalidClusterSize;
}

} // namespace

int failed(int error) {
    last_error = cudaError_t(error);
    return error;
}

int launch_kernel(const cudaLaunchConfig_st &config, const void *kernel,
                  void (*call)(const void *context), const void *context) {
    dim3 cluster = cluster_of(config);
    if (translated_program) {
        const dim3 described = cluster_described_by(call, context);
        cluster = cluster_of(config, described.x != 0 ? described : dim3(1));
    }
    const cudaError_t status = verdict(config, kernel, cluster);
    if (status != cudaSuccess)
        return failed(status);
    Grid grid{};
    grid.grid = config.gridDim;
    grid.block = config.blockDim;
    grid.cluster = cluster;
    grid.dynamic_shared = config.dynamicSmemBytes;
    grid.early = is_early(config);
    if (!translated_program && (grid.cluster.y != 1 || grid.cluster.z != 1))
        fail(Mistake::MISUSE, "the emulator supports clusters along x only", {});
    forget_static_shared();
    run_grid(grid, [call, context] { call(context); });
    return cudaSuccess;
}

int most_active_clusters(int *clusters, const void *kernel, const cudaLaunchConfig_st &config) {
    const cudaError_t status = verdict(config, kernel, cluster_of(config));
    *clusters = 0;
    if (status == cudaErrorInvalidClusterSize)
        return failed(status);
    if (status == cudaSuccess)
        *clusters = std::max(1, int(MULTIPROCESSORS / volume(cluster_of(config))));
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
    launch_order::waited();
}

void fence_proxy_async(Site) {
    schedule_point();
    current->cta->shared.publish(*current);
    if (translated_program)
        fence_initialised_mbarriers();
}

template <typename T>
T atomic_add(T *address, T value, Site where) {
    schedule_point();
    if (value == T(0))
        may_spin(address, where);
    SharedMemory &shared = current->cta->shared;
    const bool in_shared = shared.contains(address);
    if (!in_shared) {
        check_global(address, sizeof(T), "atomicAdd", where);
        races::tell_clusters_apart();
    }
    const T old = *address;
    *address = old + value;
    if (in_shared)
        shared.wrote(*current, shared.offset_of(address), sizeof(T), where);
    return old;
}

template int atomic_add(int *, int, Site);
template unsigned atomic_add(unsigned *, unsigned, Site);
template unsigned long long atomic_add(unsigned long long *, unsigned long long, Site);
template float atomic_add(float *, float, Site);

int count_arrival(int *counter, Site where) {
    races::acquire(counter);
    const int before = atomic_add(counter, 1, where);
    races::release(counter);
    return before;
}

void sleep() { schedule_point(); }

} // namespace emulator

cudaError_t cudaGetLastError() { return std::exchange(emulator::last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return emulator::last_error; }

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout ||
        attribute == cudaFuncAttributeNonPortableClusterSizeAllowed)
        return cudaSuccess;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        std::size_t(value) > emulator::card().largest_shared())
        return cudaError_t(emulator::failed(cudaErrorInvalidValue));
    emulator::allowed_shared()[kernel] = std::size_t(value);
    return cudaSuccess;
}
