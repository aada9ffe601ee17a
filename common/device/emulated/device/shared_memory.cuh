// The emulator's shared memory: addresses are checked to lie in the calling CTA's, and what a
// kernel takes the dynamic part to be must fit into what the launch requested.
#pragma once

#include "device/base.cuh"

#include "emulator/runtime.h"

// An address of the emulator's own counting; ADDRESS for an object outside of shared memory.
DEVICE uint32_t shared_address(const void *object, EMULATOR_SITE) {
    return emulator::shared_address(object, where);
}

// MISUSE if the launch requested less than sizeof(T) bytes.
template <typename T>
DEVICE T &dynamic_smem(EMULATOR_SITE) {
    static_assert(alignof(T) <= 1024, "dynamic shared memory is aligned to 1024 bytes only");
    return *static_cast<T *>(emulator::dynamic_shared(sizeof(T), where));
}
