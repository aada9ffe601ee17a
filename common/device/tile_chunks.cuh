// How the threads of a CTA share the copies of an operand's tiles: each takes a chunk of 16 bytes,
// and with it the chunks every STEP rows below. Neighbouring threads take neighbouring chunks, so a
// warp reads whole rows of a tile. The addresses are calculated once per tile of D; from k-tile
// to k-tile one pointer moves.
#pragma once

#include "device/fp16.cuh"

// The longest row of a matrix: TileChunks can address 256 rows of this many values.
constexpr int TILE_CHUNKS_LARGEST_K = 1 << 23;

template <int ROWS, int COLUMNS, int THREADS>
struct TileChunks {
    static constexpr int STEP = THREADS / (COLUMNS / CHUNK); // rows that the CTA copies at once
    static constexpr int COUNT = ROWS / STEP;                // chunks per thread
    static_assert(ROWS % STEP == 0, "all threads copy equally often");
    static_assert(ROWS * uint64_t(TILE_CHUNKS_LARGEST_K) * sizeof(fp16) <= uint64_t(1) << 32,
                  "offsets have 32 bits");

    const char *source; // the k-tile's place in the matrix
    // Of the thread's chunks from there, in bytes. A load instruction adds such a 32-bit offset to
    // an address that all threads share.
    uint32_t offsets[COUNT];

    TileChunks() = default;
    DEVICE TileChunks(const fp16 *matrix, int first, int rows, int k) {
        start(matrix, first, rows, k);
    }

    // The thread's first chunk in the tile.
    DEVICE static int row() { return threadIdx.x / (COLUMNS / CHUNK); }
    DEVICE static int column() { return threadIdx.x % (COLUMNS / CHUNK) * CHUNK; }

    // Goes to the first k-tile of the rows from `first` on of a matrix with rows of k values, at
    // most TILE_CHUNKS_LARGEST_K. Rows past the end read the last row; their results must not be
    // stored.
    DEVICE void start(const fp16 *matrix, int first, int rows, int k) {
        source = reinterpret_cast<const char *>(&matrix[size_t(first) * k]);
        for (int i = 0; i < COUNT; ++i)
            offsets[i] =
                (uint32_t(min(row() + i * STEP, rows - 1 - first)) * k + column()) * sizeof(fp16);
    }

    // The address of chunk i of this k-tile.
    DEVICE const void *from(int i) const { return source + offsets[i]; }

    // Goes to the next k-tile.
    DEVICE void advance() { source += COLUMNS * sizeof(fp16); }
};
