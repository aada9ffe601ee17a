// How a tile of D is stored by its accumulators, and how a cluster adds up the parts of one,
// against where wgmma has its accumulators.
#pragma once

#include "device/cluster_sums.cuh"
#include "device/part_sums.cuh"
#include "device/tile.cuh"
#include "product.cuh"

constexpr int TILE_ROW = 16, TILE_COLUMN = 8; // of the tile in D

// D, which ends `cut_m` rows and `cut_n` columns before a tile of `rows` x `columns` does, in rows
// that are `gap` further apart. A gap comes with a bias for the columns, at an odd multiple of 2
// bytes; past its end are NaNs.
template <bool EXCHANGED>
struct Target {
    int m, n, pitch;
    DeviceArray<uint16_t> d, bias;

    static float added(int column) { return small_integer(column, 5); }
    Target(int rows, int columns, int cut_m, int cut_n, int gap)
        : m(TILE_ROW + rows - cut_m), n(TILE_COLUMN + columns - cut_n), pitch(n + gap),
          d(m * pitch, UNWRITTEN), bias(each<uint16_t>(n + 2, [=, this](int i) {
              return i == 0 || i > n ? UNWRITTEN : bf16_from_float(added(i - 1));
          })) {}
    Output output(bool by_threads) const {
        const bf16 *biases = reinterpret_cast<const bf16 *>(bias.device + 1);
        return {by_threads ? (bf16 *)d : nullptr, pitch > n ? biases : nullptr, m, n,
                size_t(pitch)};
    }
    // At row i and column j of the tile is sum(i, j), or sum(j, i) if operands are exchanged;
    // before it and past n nothing.
    template <typename Sum>
    void expect(const std::string &what, Sum sum) const {
        d.expect(what, each<uint16_t>(m * pitch, [=, this](int place) {
                     const int i = place / pitch - TILE_ROW, j = place % pitch - TILE_COLUMN;
                     const float found = EXCHANGED ? sum(j, i) : sum(i, j);
                     const bool outside = i < 0 || j < 0 || place % pitch >= n;
                     return outside ? UNWRITTEN
                                    : bf16_from_float(pitch > n ? found + added(TILE_COLUMN + j)
                                                                : found);
                 }));
    }
};

// ---------------------------------------------------------------------------- stores

// The bits of an accumulator's value: finite, not subnormal, and different for each place.
__host__ __device__ inline uint16_t stored_bits(int row, int column) {
    return uint16_t(0x80 + row * 256 + column);
}

template <int COLUMNS, bool EXCHANGED>
__global__ void store_tile(const __grid_constant__ TensorMap map_d, Output out) {
    using Store = TileStore<COLUMNS, EXCHANGED>;
    bf16 *staged = dynamic_smem<Shared<bf16, Store::ELEMENTS>>().at;
    float acc[COLUMNS / 2];
    for (int i = 0; i < COLUMNS / 2; ++i)
        acc[i] = __uint_as_float(
            uint32_t(stored_bits(fragment_row(threadIdx.x, i), fragment_column(threadIdx.x, i)))
            << 16);
    Store::store(staged, false, 1, &map_d, acc, EXCHANGED ? TILE_COLUMN : TILE_ROW,
                 EXCHANGED ? TILE_ROW : TILE_COLUMN, out);
    if (threadIdx.x == 0)
        bulk_wait_read<0>();
}

// D ends 4 rows before the tile does and, where TMA does not store it, 5 columns; TMA writes chunks
// of 16 bytes. With a bias rows are apart.
template <int COLUMNS, bool EXCHANGED, bool BY_TMA, bool BIASED>
static void expect_stored() {
    using Store = TileStore<COLUMNS, EXCHANGED>;
    const Target<EXCHANGED> to(EXCHANGED ? COLUMNS : 64, EXCHANGED ? 64 : COLUMNS, 4,
                               BY_TMA ? 0 : 5, BIASED ? 8 : 0);
    TensorMap map_d{};
    if (BY_TMA)
        EXPECT(!make_tensor_map_2d(&map_d, to.d, to.m, to.n, Store::BOX_ROWS, Store::BOX_COLUMNS,
                                   Store::SWIZZLE, l2_promotion<bf16>(), to.pitch),
               "no tensor map for %d columns", COLUMNS);
    run(store_tile<COLUMNS, EXCHANGED>, {1, WARPGROUP_THREADS, 1, sizeof(bf16) * Store::ELEMENTS},
        map_d, to.output(!BY_TMA));
    to.expect(std::to_string(COLUMNS) + " columns",
              [](int i, int j) { return bf16_to_float(stored_bits(i, j)); });
}

// Widths of every kind: boxes under each swizzle or none, one or several at a time, as many each
// time or fewer the last, and a last one of 8 columns.
template <bool EXCHANGED, bool BY_TMA, bool BIASED = false>
static void widths_stored() {
    []<int... WIDTHS>(std::integer_sequence<int, WIDTHS...>) {
        (expect_stored<WIDTHS, EXCHANGED, BY_TMA, BIASED>(), ...);
    }
    (std::integer_sequence<int, 8, 16, 40, 64, 96, 128, 192, 200, 208, 256>());
}

// ---------------------------------------------------------------------------- parts

constexpr int PARTS = 3;
constexpr int SUM_BLOCKS = 2;

// Different for each place, and such that the sum of all parts depends on their order.
__host__ __device__ inline float sum_of(int part, int thread, int i) {
    return (part == 0 ? 1.0f : part == 1 ? 3e8f : -3e8f) + float(thread * 16 + i);
}

static float sum_of_parts(int thread, int i) {
    float sum = 0;
    for (int part = 0; part < PARTS; ++part)
        sum += sum_of(part, thread, i);
    return sum;
}

template <int WIDTH, bool EXCHANGED>
struct GatheredTile {
    using T = Tile<SUM_BLOCKS * 64, WIDTH, ALONE, EXCHANGED ? SWAPPED : AS_THEY_ARE>;
    using Sums = ClusterSums<T::ROWS_D, T::COLUMNS_D, T::PITCH, EXCHANGED, 1>;
    alignas(16) float sums[T::ROWS_D * T::PITCH];
};

// Each CTA of a cluster has a part of the sums; each adds a share of the rows.
template <int WIDTH, bool EXCHANGED>
__global__ void gather_sums(Output out) {
    using Gathered = GatheredTile<WIDTH, EXCHANGED>;
    Gathered &smem = dynamic_smem<Gathered>();
    for (int block = 0; block < SUM_BLOCKS; ++block) {
        float acc[WIDTH / 2];
        for (int i = 0; i < WIDTH / 2; ++i)
            acc[i] = sum_of(cluster_cta_rank(), block * 64 + fragment_row(threadIdx.x, i),
                            fragment_column(threadIdx.x, i));
        Gathered::Sums::write(smem.sums, acc, block * 64, 0);
    }
    cluster_sync(); // the sums of all CTAs are there
    Gathered::Sums::add(out, smem.sums, PARTS, TILE_ROW, TILE_COLUMN, threadIdx.x,
                        WARPGROUP_THREADS);
    cluster_sync_relaxed(); // no CTA leaves while another one may still read its sums
}

// D ends 5 rows before the tile does, and `cut` columns: rows of D of any length, which are `gap`
// more apart; a gap comes with a bias.
template <int WIDTH, bool EXCHANGED>
static void expect_gathered(int cut, int gap) {
    using Gathered = GatheredTile<WIDTH, EXCHANGED>;
    using T = typename Gathered::T;
    const Target<EXCHANGED> to(T::ROWS_D, T::COLUMNS_D, 5, cut, gap);
    run(gather_sums<WIDTH, EXCHANGED>, {PARTS, WARPGROUP_THREADS, PARTS, sizeof(Gathered)},
        to.output(true));
    to.expect(std::to_string(to.n) + " columns", sum_of_parts);
}

template <bool EXCHANGED>
static void biased_parts() {
    for (int cut : {4, 5, 6})
        for (int gap : {1, 4})
            expect_gathered<24, EXCHANGED>(cut, gap);
}

// Each CTA stores the sums of its part to an array of its own.
template <int WIDTH, bool EXCHANGED>
__global__ void store_part(float *sums, int m, int n) {
    float acc[WIDTH / 2];
    for (int i = 0; i < WIDTH / 2; ++i)
        acc[i] = float(blockIdx.x * 10000 + fragment_row(threadIdx.x, i) * 100 +
                       fragment_column(threadIdx.x, i));
    store_sums<EXCHANGED>(sums, acc, blockIdx.x, EXCHANGED ? TILE_COLUMN : TILE_ROW,
                          EXCHANGED ? TILE_ROW : TILE_COLUMN, m, n);
}

// D ends 5 rows before the tile does, and `cut` columns. Sums follow a row up to its pitch.
template <int WIDTH, bool EXCHANGED>
static void expect_sums(int cut) {
    const int m = TILE_ROW + (EXCHANGED ? WIDTH : 64) - 5;
    const int n = TILE_COLUMN + (EXCHANGED ? 64 : WIDTH) - cut, pitch = sums_pitch(n);
    const DeviceArray<float> sums(sums_count(PARTS, m, n), -1);
    run(store_part<WIDTH, EXCHANGED>, {PARTS, WARPGROUP_THREADS}, sums, m, n);
    sums.expect(std::to_string(n) + " columns", each<float>(sums.count, [=](int place) {
                    const int i = place / pitch % m - TILE_ROW, j = place % pitch - TILE_COLUMN;
                    const int row = EXCHANGED ? j : i, column = EXCHANGED ? i : j;
                    return i < 0 || j < 0 ? -1.0f
                                          : float(place / pitch / m * 10000 + row * 100 + column);
                }));
}

static const std::vector<Case> TILE_CASES = {
    {"TileStore by TMA: ten widths, clipped", widths_stored<false, true>},
    {"TileStore by TMA, exchanged: the same", widths_stored<true, true>},
    {"TileStore by threads: the same, rows of any length", widths_stored<false, false>},
    {"TileStore by threads, exchanged: the same", widths_stored<true, false>},
    {"ClusterSums: each CTA of a cluster adds a share of the rows",
     [] {
         for (int cut : {4, 5, 6}) {
             expect_gathered<24, false>(cut, 0);
             expect_gathered<24, true>(cut, 0);
         }
     }},
    {"TileStore by TMA: rows apart, and a bias", widths_stored<false, true, true>},
    {"TileStore by TMA, exchanged: rows apart, and a bias", widths_stored<true, true, true>},
    {"TileStore by threads: rows apart, and a bias", widths_stored<false, false, true>},
    {"TileStore by threads, exchanged: rows apart, and a bias", widths_stored<true, false, true>},
    {"store_sums: rows of any length, clipped",
     [] {
         for (int cut : {4, 5, 6, 7}) {
             expect_sums<24, false>(cut);
             expect_sums<24, true>(cut);
         }
     }},
    {"ClusterSums: rows apart, and a bias", biased_parts<false>},
    {"ClusterSums, exchanged: the same", biased_parts<true>},
};
