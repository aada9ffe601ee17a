// Sums of the parts of tiles in device memory, where a launch of its own can add them: any number
// of clusters may divide k.
#pragma once

#include "device/tile_store.cuh"

constexpr int ADDED = 4; // sums of a thread that adds

// Elements from row to row of a part's sums, whose rows are multiples of 16 bytes.
HOST_DEVICE constexpr int sums_pitch(int n) { return (n + ADDED - 1) / ADDED * ADDED; }

// Elements of all parts' sums of an m x n matrix.
constexpr size_t sums_count(int parts, int m, int n) { return size_t(parts) * m * sums_pitch(n); }

// The warpgroup stores a block of its part's accumulators, of which the first is that of (row,
// column): to sums[part][m][sums_pitch(n)]. EXCHANGED: they are of D^T. Each instruction of a warp
// writes whole 32-byte sectors.
template <bool EXCHANGED, int COUNT>
DEVICE void store_sums(float *sums, const float (&acc)[COUNT], int part, int row, int column, int m,
                       int n) {
    const int pitch = sums_pitch(n);
    float *to = sums + size_t(part) * m * pitch;
    row += accumulator_row();
    column += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) {
        const int r = row + i % 4 * 4;
        const int c = column + i / 4 * 8;
        if (!EXCHANGED && r < m && c < pitch)
            *reinterpret_cast<float2 *>(&to[size_t(r) * pitch + c]) =
                make_float2(acc[i], acc[i + 1]);
        for (int j = 0; j < 2; ++j)
            if (EXCHANGED && r < pitch && c + j < m)
                to[size_t(c + j) * pitch + r] = acc[i + j];
    }
}
