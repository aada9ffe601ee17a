// Counts what an exercise does beside being right, in the last launch, which is one of the whole
// problem. The compiler reads this file before the exercise (-include), on the emulator only: it
// includes the device headers, and then gives some of the names that a rung calls to functions that
// count, and call what the rung meant. exercises/exercises.txt says which counts a solution needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <type_traits>

#include <cuda_runtime.h>

namespace watch {

enum Hint : std::uint64_t { NONE, FIRST, LAST };

constexpr std::size_t STRETCH = 8; // tiles
constexpr int MOST_CTAS = 4096, MOST_MAPS = 4;
constexpr int K_TILE = 64; // columns of a TMA load along k
// Of an SM of 9.0, and what the system takes of it for each CTA.
constexpr std::size_t SM_SMEM = 228 * 1024, RESERVED_SMEM = 1024;

struct Place {
    const void *map; // nullptr: none yet
    int column, row;
};
struct Cta {
    bool loads, ready, dependents, waited, waited_early;
    Place loaded[MOST_MAPS], stored; // last
};
struct Counts {
    std::size_t smem;
    long loads, first, last;     // by their hints
    long forwards, backwards;    // steps along k
    long waits, leave_in_flight; // for copies
    Cta ctas[MOST_CTAS];
};
static Counts counts;
static double rows_and_columns; // that a stretch of tiles reads, on average

inline long ctas_that(bool (*hold)(const Cta &)) {
    return std::count_if(counts.ctas, counts.ctas + MOST_CTAS, hold);
}

static void print_at_exit() {
    const long early = ctas_that([](const Cta &cta) { return cta.dependents; });
    const long waited = ctas_that([](const Cta &cta) { return cta.waited; });
    const long stored = ctas_that([](const Cta &cta) { return cta.stored.map != nullptr; });
    if (counts.loads > 0)
        std::printf("hints      %ld of %ld loads are to be evicted first, %ld last\n", counts.first,
                    counts.loads, counts.last);
    if (counts.forwards + counts.backwards > 0)
        std::printf("along k    %ld steps forwards, %ld backwards\n", counts.forwards,
                    counts.backwards);
    if (counts.waits > 0)
        std::printf("copies     %ld %% of the waits leave copies in flight\n",
                    100 * counts.leave_in_flight / counts.waits);
    if (rows_and_columns > 0)
        std::printf(
            "order      %zu tiles in a row read %.2f rows and columns of tiles on average\n",
            STRETCH, rows_and_columns);
    if (early + waited > 0)
        std::printf("early      %ld of %ld CTAs let the next launch begin before they load, "
                    "%ld wait for the launch before when their barriers are ready\n",
                    early, ctas_that([](const Cta &cta) { return cta.loads; }),
                    ctas_that([](const Cta &cta) { return cta.waited && !cta.waited_early; }));
    if (stored > 1) {
        long neighbours = 0;
        for (const Cta *cta = counts.ctas; cta + 1 < counts.ctas + MOST_CTAS; ++cta)
            neighbours += cta[1].stored.map != nullptr && cta->stored.row == cta[1].stored.row;
        std::printf("stores     %ld of %ld CTAs store into the same rows as the CTA before\n",
                    neighbours, stored);
    }
    if (counts.smem > 0)
        std::printf("room       shared memory for %zu CTAs on an SM\n",
                    SM_SMEM / (counts.smem + RESERVED_SMEM));
}

// ---------------------------------------------------------------------------- what is counted

#define UNSEEN __attribute__((no_sanitize("thread"))) // the counts are no accesses of the kernel

UNSEEN inline Cta &own() {
    return counts
        .ctas[(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % MOST_CTAS];
}

UNSEEN inline void loaded(const void *map, int column, int row, std::uint64_t hint) {
    Place *before = own().loaded;
    while (before->map != nullptr && before->map != map)
        ++before;
    ++counts.loads;
    counts.first += hint == FIRST;
    counts.last += hint == LAST;
    own().loads = true;
    const bool in_row = before->map != nullptr && before->row == row;
    counts.forwards += in_row && before->column == column - K_TILE;
    counts.backwards += in_row && before->column == column + K_TILE;
    *before = {map, column, row};
}

UNSEEN inline void stored(const void *map, int column, int row) {
    own().stored = {map, column, row};
}

UNSEEN inline void waited_for_copies(int pending) {
    ++counts.waits;
    counts.leave_in_flight += pending > 0;
}

UNSEEN inline void barriers_ready() { own().ready = true; }
UNSEEN inline void dependents_launched() { own().dependents |= !own().loads; }
UNSEEN inline void waited_for_launch_before() {
    own().waited = true;
    own().waited_early |= !own().ready;
}

inline void ordered(const int *tiles, std::size_t count) { // pairs of m and n
    const std::size_t length = std::min(count, STRETCH);
    double sum = 0;
    for (std::size_t begin = 0; begin + length <= count; ++begin) {
        std::set<int> rows, columns;
        for (std::size_t i = begin; i < begin + length; ++i) {
            rows.insert(tiles[2 * i]);
            columns.insert(tiles[2 * i + 1]);
        }
        sum += double(rows.size() + columns.size());
    }
    rows_and_columns = sum / double(count - length + 1);
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                          Arguments &&...arguments) {
    static const int registered = std::atexit(print_at_exit);
    (void)registered;
    counts = {};
    counts.smem = config->dynamicSmemBytes;
    return cudaLaunchKernelEx(config, kernel, static_cast<Arguments &&>(arguments)...);
}

} // namespace watch

// ---------------------------------------------------------------------------- what rungs call

#define cudaLaunchKernelEx watch::launch_kernel
#include "device/launch.cuh"
#undef cudaLaunchKernelEx

#include "device/cp_async.cuh"
#include "device/dependent_launch.cuh"
#include "device/mbarrier.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"

namespace watch {

template <int PENDING>
DEVICE void wait_for_copies(EMULATOR_SITE) {
    waited_for_copies(PENDING);
    cp_async_wait<PENDING>(where);
}

template <typename T>
T *upload(const T *elements, std::size_t count) {
    if constexpr (std::is_same_v<T, tile_coordinate>)
        ordered(&elements->m, count);
    return upload_array(elements, count);
}

} // namespace watch

#define evict_first_policy() (watch::FIRST)
#define evict_last_policy() (watch::LAST)
#define tma_load_2d(tile, map, column, row, barrier)                                               \
    (watch::loaded(map, column, row, watch::NONE), tma_load_2d(tile, map, column, row, barrier))
#define tma_load_2d_hint(tile, map, column, row, barrier, hint)                                    \
    (watch::loaded(map, column, row, hint), tma_load_2d_hint(tile, map, column, row, barrier, hint))
#define tma_store_2d(map, tile, column, row)                                                       \
    (watch::stored(map, column, row), tma_store_2d(map, tile, column, row))
#define mbarrier_init_fence() (watch::barriers_ready(), mbarrier_init_fence())
#define launch_dependents() (watch::dependents_launched(), launch_dependents())
#define wait_for_launch_before() (watch::waited_for_launch_before(), wait_for_launch_before())
#define cp_async_wait watch::wait_for_copies
#define upload_array watch::upload
