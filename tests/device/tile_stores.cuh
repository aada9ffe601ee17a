// A warpgroup's stores of a tile of any width, clipped at the edges of D, against where wgmma has
// its accumulators.
#pragma once

#include "device/tile_choice.h"
#include "device/tile_store.cuh"
#include "warpgroup_matrices.cuh"

constexpr int FIRST_ROW = 16, FIRST_COLUMN = 8; // of the tile in D

// The bits of an accumulator's value: finite, not subnormal, and different for each place.
__host__ __device__ inline uint16_t stored_bits(int row, int column) {
    return uint16_t(0x80 + row * 256 + column);
}

template <int COLUMNS, bool EXCHANGED>
__global__ void store_tile(const __grid_constant__ TensorMap map_d, bf16 *d, int m, int n) {
    using Store = TileStore<COLUMNS, EXCHANGED>;
    struct Staging {
        alignas(1024) bf16 d[Store::ELEMENTS];
    };
    Staging &smem = dynamic_smem<Staging>();
    float acc[COLUMNS / 2];
    for (int i = 0; i < COLUMNS / 2; ++i)
        acc[i] = __uint_as_float(
            uint32_t(stored_bits(fragment_row(threadIdx.x, i), fragment_column(threadIdx.x, i)))
            << 16);
    Store::store(smem.d, false, 1, &map_d, acc, EXCHANGED ? FIRST_COLUMN : FIRST_ROW,
                 EXCHANGED ? FIRST_ROW : FIRST_COLUMN, d, m, n);
    if (threadIdx.x == 0)
        bulk_wait_read<0>();
}

// D ends 4 rows before the tile does and, where TMA does not store it, 5 columns.
template <int COLUMNS, bool EXCHANGED, bool BY_TMA>
static void expect_stored() {
    using Store = TileStore<COLUMNS, EXCHANGED>;
    const tile_kernel kernel = {64, COLUMNS, 1, 1, false, 4, 1, 1, EXCHANGED};
    EXPECT(tile_box(&kernel) == Store::BOX_COLUMNS, "%d columns: the model has boxes of %d, not %d",
           COLUMNS, tile_box(&kernel), Store::BOX_COLUMNS);
    const int rows = EXCHANGED ? COLUMNS : 64, columns = EXCHANGED ? 64 : COLUMNS;
    const int m = FIRST_ROW + rows - 4, n = FIRST_COLUMN + columns - (BY_TMA ? 0 : 5);
    std::vector<uint16_t> expected(m * n, UNWRITTEN);
    for (int row = FIRST_ROW; row < m; ++row)
        for (int column = FIRST_COLUMN; column < n; ++column) {
            const int i = row - FIRST_ROW, j = column - FIRST_COLUMN;
            expected[row * n + column] = EXCHANGED ? stored_bits(j, i) : stored_bits(i, j);
        }
    const DeviceArray<uint16_t> d(m * n, UNWRITTEN);
    bf16 *on_device = reinterpret_cast<bf16 *>(d.device);
    TensorMap map_d{};
    if (BY_TMA)
        EXPECT(!make_tensor_map_2d(&map_d, on_device, m, n, Store::BOX_ROWS, Store::BOX_COLUMNS,
                                   Store::SWIZZLE),
               "no tensor map for %d columns", COLUMNS);
    run(store_tile<COLUMNS, EXCHANGED>, {1, WARPGROUP_THREADS, 1, sizeof(bf16) * Store::ELEMENTS},
        map_d, BY_TMA ? nullptr : on_device, m, n);
    expect_equal(d.read(), expected, n, std::to_string(COLUMNS) + " columns");
}

// Widths of every kind: boxes under each swizzle or none, one or several at a time, as many each
// time or fewer the last, and a last one of 8 columns.
template <bool EXCHANGED, bool BY_TMA, int... WIDTHS>
static void each_width_stored(std::integer_sequence<int, WIDTHS...>) {
    (expect_stored<WIDTHS, EXCHANGED, BY_TMA>(), ...);
}
template <bool EXCHANGED, bool BY_TMA>
static void widths_stored() {
    each_width_stored<EXCHANGED, BY_TMA>(
        std::integer_sequence<int, 8, 16, 40, 64, 96, 128, 192, 200, 208, 256>());
}
