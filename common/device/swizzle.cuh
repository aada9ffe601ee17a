// Swizzles: how TMA lays out rows of 128, 64 or 32 bytes so that a column of 16-byte chunks hits
// all 32 banks. Of rows of 128 bytes, chunk c of row r is stored as chunk c ^ (r % 8) of row r;
// shorter rows count as parts of rows of 128 bytes. (PTX ISA: Swizzling Modes; the pattern repeats
// every 8 of those rows = 1024 bytes, so a tile must start at a multiple of 1024 bytes.)
#pragma once

#include "device/base.cuh"

constexpr int SWIZZLE_BYTES = 128;                                 // a row of a swizzled tile
constexpr int SWIZZLE_COLUMNS = SWIZZLE_BYTES / int(sizeof(bf16)); // the same, in bf16
constexpr int SWIZZLE_ROWS = 8;                                    // the pattern's period

// Index, in elements, of (row, column) in a tile whose rows are BYTES = 128, 64 or 32 bytes of T.
template <int BYTES, typename T = bf16>
__host__ __device__ constexpr int swizzle(int row, int column) {
    constexpr int COLUMNS = BYTES / int(sizeof(T));
    constexpr int CHUNK = 16 / int(sizeof(T)); // elements that move together
    const int moved = row * BYTES / SWIZZLE_BYTES % (BYTES / 16);
    return row * COLUMNS + ((column / CHUNK) ^ moved) * CHUNK + column % CHUNK;
}

// The same of rows of 128 bytes.
template <typename T = bf16>
__host__ __device__ constexpr int swizzle_128b(int row, int column) {
    return swizzle<SWIZZLE_BYTES, T>(row, column);
}
