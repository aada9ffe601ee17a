// A load that the hardware does not merge with its neighbours': common/device has none, since no
// rung wants it. Here it shows what merging saves.
#pragma once

#include "device/tma.cuh"

// tma_load_3d with the policy that it has anyway, but said: the lines come and go as before, and in
// trials the L2 then answered each CTA's request by itself. (PTX ISA: createpolicy; cache_hint of
// cp.async.bulk.tensor. That merging depends on it stands in no manual.)
DEVICE void tma_load_3d_evict_normal(bf16 *tile, const TensorMap *map, int column, int row,
                                     uint64_t *barrier) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%2, %3, 0}], [%4], %5;" ::"r"(shared_address(tile)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "l"(policy)
                 : "memory");
}
