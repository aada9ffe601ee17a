// Counts what an exercise does beside being right. The compiler reads this file before the exercise
// (-include), on the emulator only: it includes the device headers, and then gives some of the
// names that a rung calls to functions that count, and call what the rung meant. When the program
// ends, watch.cpp prints the counts; exercises/exercises.txt says which of them a solution needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

// watch.cpp is compiled without -fsanitize=thread: the counts are no accesses of the kernel.
namespace watch {

enum Hint : std::uint64_t { NONE, FIRST, LAST };

void launched(std::size_t dynamic_smem);
void loaded(int cta, const void *map, int column, int row, Hint hint);
void stored(int cta, int column, int row);
void waited_for_copies(int pending);
void ordered(const int *tiles, std::size_t count); // pairs of m and n
void barriers_ready(int cta);
void dependents_launched(int cta);
void waited_for_launch_before(int cta);

inline int cta() { return int(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)); }

template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                          Arguments &&...arguments) {
    launched(config->dynamicSmemBytes);
    return cudaLaunchKernelEx(config, kernel, static_cast<Arguments &&>(arguments)...);
}

} // namespace watch

#define cudaLaunchKernelEx watch::launch_kernel
#include "device/launch.cuh"
#undef cudaLaunchKernelEx

#include "device/cp_async.cuh"
#include "device/dependent_launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"

namespace watch {

DEVICE std::uint64_t first() { return FIRST; }
DEVICE std::uint64_t last() { return LAST; }

DEVICE void load(void *tile, const TensorMap *map, int column, int row, uint64_t *barrier,
                 EMULATOR_SITE) {
    loaded(cta(), map, column, row, NONE);
    tma_load_2d(tile, map, column, row, barrier, where);
}

DEVICE void load_hint(void *tile, const TensorMap *map, int column, int row, uint64_t *barrier,
                      uint64_t policy, EMULATOR_SITE) {
    loaded(cta(), map, column, row, Hint(policy));
    tma_load_2d(tile, map, column, row, barrier, where);
}

DEVICE void store(const TensorMap *map, const void *tile, int column, int row, EMULATOR_SITE) {
    stored(cta(), column, row);
    tma_store_2d(map, tile, column, row, where);
}

template <int PENDING>
DEVICE void wait_for_copies(EMULATOR_SITE) {
    waited_for_copies(PENDING);
    cp_async_wait<PENDING>(where);
}

DEVICE void init_fence(EMULATOR_SITE) {
    barriers_ready(cta());
    mbarrier_init_fence(where);
}

DEVICE void dependents() {
    dependents_launched(cta());
    launch_dependents();
}

DEVICE void launch_before() {
    waited_for_launch_before(cta());
    wait_for_launch_before();
}

template <typename T>
T *upload(const T *elements, std::size_t count) {
    if constexpr (std::is_same_v<T, tile_coordinate>)
        ordered(&elements->m, count);
    return upload_array(elements, count);
}

} // namespace watch

#define evict_first_policy watch::first
#define evict_last_policy watch::last
#define tma_load_2d watch::load
#define tma_load_2d_hint watch::load_hint
#define tma_store_2d watch::store
#define cp_async_wait watch::wait_for_copies
#define mbarrier_init_fence watch::init_fence
#define launch_dependents watch::dependents
#define wait_for_launch_before watch::launch_before
#define upload_array watch::upload
