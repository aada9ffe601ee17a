// A policy whose loads the hardware does not merge with their neighbours': common/device has none,
// since no rung wants it. Here it shows what merging saves.
#pragma once

#include "device/tma.cuh"

// The policy that a load has anyway, but named: the lines come and go as before, and in trials the
// L2 then answered each CTA's request by itself. (PTX ISA: createpolicy; cache_hint of
// cp.async.bulk.tensor. No document says that merging depends on it.)
DEVICE uint64_t evict_normal_policy() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
