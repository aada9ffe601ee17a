// From a warpgroup's accumulators to D, through staging memory: blocks of 64 rows and any number of
// columns, as they are or exchanged, by TMA or, where D's rows aren't multiples of 16 bytes, by
// ordinary stores.
#pragma once

#include "device/named_barrier.cuh"
#include "device/stmatrix.cuh"
#include "device/swizzle.cuh"
#include "device/tensor_map.cuh"
#include "device/tma.cuh"

// Columns of a store's box: as many as a swizzle takes, so that a box's rows are whole 32-byte
// sectors of the L2; if that is none, all, an odd number of 16-byte chunks: neighbouring rows hit
// different banks.
constexpr int box_columns(int columns) {
    for (int box = SWIZZLE_COLUMNS; box >= 16; box /= 2)
        if (columns % box == 0)
            return box;
    return columns;
}

// Columns of accumulators that are staged at a time: whole boxes, about 128 columns at most and
// about as many each time; the last time has the rest. Exchanged, they are the rows of one box.
constexpr int staged_columns(int columns, bool exchanged) {
    if (exchanged)
        return columns > 128 && columns % 16 == 0 ? columns / 2 : columns;
    const int box = box_columns(columns);
    if (box == SWIZZLE_COLUMNS && columns > 128 && columns % 128 != 0)
        return box; // two boxes and then one would take a stage of the ring
    return ceil_div(columns, ceil_div(columns, 128) * box) * box;
}

// D, to which threads or TMA store, and what is added to its rows.
struct Output {
    bf16 *d;          // where threads store it, nullptr where TMA does
    const bf16 *bias; // [n], at any address, added to the sums before they are rounded, or nullptr
    int m;
    int n;
    size_t pitch; // elements from row to row
};

// An element of the bias; 0 past its end.
DEVICE float bias_at(const Output &out, int column) {
    return column < out.n ? __bfloat162float(out.bias[column]) : 0;
}

// How a warpgroup stores blocks of 64 x COLUMNS accumulators. EXCHANGED: of D^T, a row of
// accumulators is a column of D.
template <int COLUMNS, bool EXCHANGED>
struct TileStore {
    static constexpr int ROWS = 64;
    static constexpr int STAGED = staged_columns(COLUMNS, EXCHANGED);
    static constexpr int STAGED_ROWS = EXCHANGED ? STAGED : ROWS; // of D
    // Of the box of D's tensor map.
    static constexpr int BOX_ROWS = STAGED_ROWS;
    static constexpr int BOX_COLUMNS = EXCHANGED ? ROWS : box_columns(COLUMNS);
    static constexpr CUtensorMapSwizzle SWIZZLE = swizzle_of_rows(BOX_COLUMNS * int(sizeof(bf16)));
    static constexpr int ELEMENTS = ROWS * STAGED; // of the staging memory, 1024-byte aligned

    // The place of a staged element: box after box.
    static DEVICE int place(int row, int column) {
        const int box = column / BOX_COLUMNS * (BOX_ROWS * BOX_COLUMNS);
        if constexpr (SWIZZLE == UNSWIZZLED)
            return box + row * BOX_COLUMNS + column % BOX_COLUMNS;
        else
            return box + swizzle<BOX_COLUMNS *int(sizeof(bf16))>(row, column % BOX_COLUMNS);
    }

    // A warp stages 16 rows and 16 columns of accumulators, or the last 8 columns; `column` is the
    // first. stmatrix takes two 8 x 8 matrices, one below the other, and the two to their right;
    // eight lanes name the rows of each. Transposed, each two matrices come to lie side by side.
    static DEVICE void stage(bf16 *staging, const float *values, int column) {
        const int lane = threadIdx.x % WARP_THREADS;
        const int row = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS * 16; // the warp's first
        const bool whole = column + 16 <= STAGED;
        if (EXCHANGED) {
            bf16 *to = &staging[place(column + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8)];
            if (whole)
                stmatrix_x4_transposed(to, values);
            else
                stmatrix_x2_transposed(to, values);
        } else {
            bf16 *to = &staging[place(row + lane % 16, column + (whole ? lane / 16 * 8 : 0))];
            if (whole)
                stmatrix_x4(to, values);
            else
                stmatrix_x2(to, values);
        }
    }

    // Adds the bias to a block of accumulators, the first of which is that of (row, column).
    // EXCHANGED: a thread has two rows of accumulators. Else each lane of a warp loads a pair of
    // columns, and hands it to those that have them.
    static DEVICE void add_bias(float (&acc)[COLUMNS / 2], int row, int column, const Output &out) {
        const int lane = threadIdx.x % WARP_THREADS;
        const int first = row + accumulator_row();
        float bias[2] = {EXCHANGED ? bias_at(out, first) : 0,
                         EXCHANGED ? bias_at(out, first + 8) : 0};
        uint32_t pair = 0;
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; i += 4) { // 8 columns
            if (!EXCHANGED && i % WARP_THREADS == 0) {
                const int own = column + 2 * (i + lane);
                pair = pack_bf16(bias_at(out, own), bias_at(out, own + 1));
            }
            if (!EXCHANGED) {
                const uint32_t given = __shfl_sync(0xffffffffu, pair, i % WARP_THREADS + lane % 4);
                bias[0] = __uint_as_float(given << 16);
                bias[1] = __uint_as_float(given & 0xffff0000);
            }
            for (int k = 0; k < 4; ++k)
                acc[i + k] += bias[EXCHANGED ? k / 2 : k % 2];
        }
    }

    // The warpgroup writes what is staged, rows of `columns`, to D from (row, column) on. A warp
    // takes a row at a time.
    static DEVICE void copy(const Output &out, const bf16 *staging, int row, int column,
                            int columns) {
        const int warp = threadIdx.x % WARPGROUP_THREADS / WARP_THREADS;
        const int lane = threadIdx.x % WARP_THREADS;
        for (int i = warp; i < STAGED_ROWS && row + i < out.m;
             i += WARPGROUP_THREADS / WARP_THREADS)
            for (int j = lane; j < columns && column + j < out.n; j += WARP_THREADS)
                out.d[(row + i) * out.pitch + column + j] = staging[place(i, j)];
    }

    // The warpgroup stores a block of which the first accumulator is that of (row, column): by TMA,
    // or by threads where `out` says so. `barrier` is a named barrier of its own. With
    // `whole` the staging memory is unused and has room for the whole block: nothing is waited for.
    // After the last block one of its threads, the first, waits until TMA has read the memory.
    static DEVICE void store(bf16 *staging, bool whole, int barrier, const TensorMap *map_d,
                             float (&acc)[COLUMNS / 2], int row, int column, const Output &out) {
        const bool leader = threadIdx.x % WARPGROUP_THREADS == 0;
        if (out.bias != nullptr)
            add_bias(acc, row, column, out);
        for (int first = 0; first < COLUMNS; first += STAGED) {
            const int staged = COLUMNS - first < STAGED ? COLUMNS - first : STAGED;
            const int row_d = EXCHANGED ? column + first : row;
            const int column_d = EXCHANGED ? row : column + first;
            bf16 *to = whole ? &staging[first * ROWS] : staging;
            if (!whole) {
                if (leader)
                    bulk_wait_read<0>(); // the last store has read the staging memory ...
                named_barrier_sync(barrier, WARPGROUP_THREADS); // ... and all know
            }
            for (int j = 0; j < staged; j += 16)
                stage(to, &acc[(first + j) / 2], j);
            fence_proxy_async(); // what this thread wrote is seen by TMA ...
            named_barrier_sync(barrier, WARPGROUP_THREADS); // ... and all wrote
            if (out.d != nullptr) {
                copy(out, to, row_d, column_d, EXCHANGED ? ROWS : staged);
            } else if (leader) {
                for (int j = 0; j < (EXCHANGED ? ROWS : staged); j += BOX_COLUMNS)
                    tma_store_2d_hint(map_d, &to[j * BOX_ROWS], column_d + j, row_d,
                                      evict_first_policy());
                bulk_commit();
            }
        }
    }
};
