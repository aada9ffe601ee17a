// Shared memory: where the dynamic part begins, and the addresses that PTX instructions take.
#pragma once

#include "device/base.cuh"

// The 32-bit address of an object in the calling CTA's shared memory, as PTX's .shared state space
// needs it. Opaque: do no arithmetic on it. (PTX ISA: State Spaces, Generic Addressing.)
DEVICE uint32_t shared_address(const void *object) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(object));
}

// The CTA's dynamic shared memory as one T. 1024-byte aligned, as the 128-byte swizzle needs; the
// launch sets its size.
template <typename T>
DEVICE T &dynamic_smem() {
    static_assert(alignof(T) <= 1024, "dynamic shared memory is aligned to 1024 bytes only");
    extern __shared__ __align__(1024) unsigned char dynamic_smem_bytes[];
    return *reinterpret_cast<T *>(dynamic_smem_bytes);
}
