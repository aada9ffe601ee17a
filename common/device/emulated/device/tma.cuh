// The emulator's TMA: loads and stores are started here and happen when the policy says. Stores
// read what was fenced for the async proxy; an unfenced write is a HAZARD.
#pragma once

#include "device/shared_memory.cuh"
#include "device/tensor_map.cuh"

#include "emulator/tma.h"

// A prefetch: nothing that a program can see.
DEVICE void tensor_map_prefetch(const TensorMap *map) { (void)map; }

// A load of a two-dimensional box into the own CTA.
DEVICE void tma_load_2d(void *tile, const TensorMap *map, int column, int row, uint64_t *barrier,
                        EMULATOR_SITE) {
    emulator::tma_load({tile, where}, map, {2, {column, row}}, {barrier, where}, 0, where);
}

// A load of a two-dimensional box into the CTAs of cta_mask.
DEVICE void tma_load_2d_multicast(void *tile, const TensorMap *map, int column, int row,
                                  uint64_t *barrier, uint16_t cta_mask, EMULATOR_SITE) {
    emulator::tma_load({tile, where}, map, {2, {column, row}}, {barrier, where}, cta_mask, where);
}

// There is no L2: its policies mean nothing.
DEVICE uint64_t evict_last_policy() { return 0; }
DEVICE uint64_t evict_first_policy() { return 0; }

// tma_load_2d.
DEVICE void tma_load_2d_hint(void *tile, const TensorMap *map, int column, int row,
                             uint64_t *barrier, uint64_t policy, EMULATOR_SITE) {
    (void)policy;
    tma_load_2d(tile, map, column, row, barrier, where);
}

// What the thread did to shared memory so far comes before what TMA and wgmma do afterwards.
DEVICE void fence_proxy_async() { emulator::fence_proxy_async(); }

// A store, in the thread's open bulk group.
DEVICE void tma_store_2d(const TensorMap *map, const void *tile, int column, int row,
                         EMULATOR_SITE) {
    emulator::tma_store(map, {2, {column, row}}, {tile, where}, where);
}

// tma_store_2d.
DEVICE void tma_store_2d_hint(const TensorMap *map, const void *tile, int column, int row,
                              uint64_t policy, EMULATOR_SITE) {
    (void)policy;
    tma_store_2d(map, tile, column, row, where);
}

// Closes the thread's open bulk group.
DEVICE void bulk_commit(EMULATOR_SITE) { emulator::bulk_commit(where); }

// The thread waits until its older groups have read their source ...
template <int PENDING>
DEVICE void bulk_wait_read(EMULATOR_SITE) {
    emulator::bulk_wait(PENDING, true, where);
}

// ... or are written.
template <int PENDING>
DEVICE void bulk_wait(EMULATOR_SITE) {
    emulator::bulk_wait(PENDING, false, where);
}
