// Matrix descriptors tell wgmma where an operand tile is in shared memory, and in which layout.
// (PTX ISA: wgmma, Matrix Descriptor Format.)
#pragma once

#include "device/shared_memory.cuh"
#include "device/swizzle.cuh"

// Describes an operand tile to wgmma: K-major rows of 128 bytes (64 bf16, 128 e4m3) in TMA's
// 128-byte swizzle. `address` is the shared address where the columns of the first row's wgmma
// begin: a multiple of 1024, plus 32 bytes for each step of 16 bf16 or 32 e4m3 along k. (PTX ISA:
// wgmma, Matrix Descriptor Format.)
__host__ __device__ constexpr uint64_t descriptor_of_address(uint32_t address) {
    constexpr uint64_t STRIDE_BYTES = SWIZZLE_ROWS * SWIZZLE_BYTES; // from 8 rows to the next 8
    constexpr uint64_t SWIZZLE_128B = 1;                            // bits 62-63
    const uint64_t start = address;
    return (start & 0x3ffff) >> 4      // bits 0-13: start address / 16
           | uint64_t(1) << 16         // bits 16-29: leading dimension, unused when swizzled
           | (STRIDE_BYTES >> 4) << 32 // bits 32-45: stride dimension / 16
           | SWIZZLE_128B << 62;
}

// The same for a tile in the calling CTA's shared memory.
template <typename T>
DEVICE uint64_t matrix_descriptor(const T *tile) {
    return descriptor_of_address(shared_address(tile));
}

// The descriptor of the same tile from `columns` columns of T on (16 bytes or a multiple, inside
// the 128 of a row). Only the start address changes, because the swizzle uses the bits of the
// address itself. (PTX ISA: wgmma, Matrix Descriptor Format.)
template <typename T = bf16>
DEVICE uint64_t advance_k(uint64_t descriptor, int columns) {
    return descriptor + columns * sizeof(T) / 16;
}
