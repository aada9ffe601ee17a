// A load with a policy said, for the emulator, which has no L2: a load.
#pragma once

#include "device/tma.cuh"

DEVICE void tma_load_3d_evict_normal(bf16 *tile, const TensorMap *map, int column, int row,
                                     uint64_t *barrier) {
    tma_load_3d(tile, map, column, row, barrier);
}
