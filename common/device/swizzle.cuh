// The 128-byte swizzle: how TMA lays out rows of 128 bytes so that a column of 16-byte chunks hits
// all 32 banks. Chunk c of row r is stored as chunk c ^ (r % 8) of row r. (PTX ISA: Swizzling
// Modes; the pattern repeats every 8 rows = 1024 bytes, so a tile must start at a multiple of 1024
// bytes.)
#pragma once

#include "device/base.cuh"

constexpr int SWIZZLE_BYTES = 128;                                 // a row of a swizzled tile
constexpr int SWIZZLE_COLUMNS = SWIZZLE_BYTES / int(sizeof(bf16)); // the same, in bf16
constexpr int SWIZZLE_ROWS = 8;                                    // the pattern's period

// Index, in elements, of (row, column) in a tile whose rows are 128 bytes of T.
template <typename T = bf16>
__host__ __device__ constexpr int swizzle_128b(int row, int column) {
    constexpr int COLUMNS = SWIZZLE_BYTES / int(sizeof(T));
    constexpr int CHUNK = 16 / int(sizeof(T)); // elements that move together
    return row * COLUMNS + ((column / CHUNK) ^ (row % SWIZZLE_ROWS)) * CHUNK + column % CHUNK;
}
