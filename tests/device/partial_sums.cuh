// Arrivals of CTAs on a counter, and the sums of the parts of a tile, in a workspace and in a
// cluster, against their definitions.
#pragma once

#include "device/partial_sums.cuh"
#include "device/tile_choice.h"
#include "warpgroup_matrices.cuh"

constexpr int PARTS = 3;
constexpr int SUM_BLOCKS = 2;
constexpr int SUM_COUNT = 8; // accumulators of a thread in each block
constexpr int SUMS_OF_PART = SUM_BLOCKS * SUM_COUNT * WARPGROUP_THREADS;

// Different for each place, and such that the sum of all parts depends on their order.
__host__ __device__ inline float sum_of(int part, int thread, int i) {
    return (part == 0 ? 1.0f : part == 1 ? 3e8f : -3e8f) + float(thread * 16 + i);
}

// Each CTA writes its part; the last to arrive adds all, and writes out [thread][16]. before
// [PARTS] counts how often each number of earlier arrivals was returned.
__global__ void add_all_parts(float4 *sums, int *arrived, int *before, float *out) {
    __shared__ bool is_last;
    const int thread = threadIdx.x;
    float acc[SUM_BLOCKS][SUM_COUNT];
    for (int i = 0; i < SUM_BLOCKS * SUM_COUNT; ++i)
        acc[i / SUM_COUNT][i % SUM_COUNT] = sum_of(blockIdx.x, thread, i);
    write_sums(&sums[blockIdx.x * SUMS_OF_PART / 4], acc);
    __syncthreads();
    if (thread == 0) {
        const int earlier = count_arrival(arrived);
        ++before[earlier];
        is_last = earlier == PARTS - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    add_sums(acc, sums, PARTS, SUMS_OF_PART / 4);
    for (int i = 0; i < SUM_BLOCKS * SUM_COUNT; ++i)
        out[thread * SUM_BLOCKS * SUM_COUNT + i] = acc[i / SUM_COUNT][i % SUM_COUNT];
}

static void parts_added() {
    const int columns = SUM_BLOCKS * SUM_COUNT;
    std::vector<float> expected(WARPGROUP_THREADS * columns);
    for (int i = 0; i < WARPGROUP_THREADS * columns; ++i)
        for (int part = 0; part < PARTS; ++part)
            expected[i] += sum_of(part, i / columns, i % columns);
    const DeviceArray<float4> sums(PARTS * SUMS_OF_PART / 4, float4{});
    const DeviceArray<int> arrived(1, 0), before(PARTS, 0);
    const DeviceArray<float> out(expected.size(), -1.0f);
    run(add_all_parts, {PARTS, WARPGROUP_THREADS}, sums.device, arrived.device, before.device,
        out.device);
    expect_equal(arrived.read(), {PARTS}, 1, "arrivals");
    expect_equal(before.read(), std::vector<int>(PARTS, 1), 1, "each number of arrivals once");
    expect_equal(out.read(), expected, columns, "sums in the order of the parts");
}

// A tile of D at (TILE_ROW, TILE_COLUMN), or its transpose: two blocks of 64 rows of accumulators.
constexpr int TILE_ROW = 16, TILE_COLUMN = 8;

template <int WIDTH, bool EXCHANGED>
struct GatheredTile {
    static constexpr int ROWS = EXCHANGED ? WIDTH : SUM_BLOCKS * 64;
    static constexpr int COLUMNS = EXCHANGED ? SUM_BLOCKS * 64 : WIDTH;
    static constexpr int PITCH = TILE_SUMS_PITCH(COLUMNS, EXCHANGED);
    using Sums = ClusterSums<ROWS, COLUMNS, PITCH, EXCHANGED, 1>;
    alignas(16) float sums[ROWS * PITCH];
};

// Each CTA of a cluster has a part of the sums; each adds a share of the rows.
template <int WIDTH, bool EXCHANGED>
__global__ void gather_sums(bf16 *d, int m, int n) {
    using Tile = GatheredTile<WIDTH, EXCHANGED>;
    Tile &smem = dynamic_smem<Tile>();
    for (int block = 0; block < SUM_BLOCKS; ++block) {
        float acc[WIDTH / 2];
        for (int i = 0; i < WIDTH / 2; ++i)
            acc[i] = sum_of(cluster_cta_rank(), block * 64 + fragment_row(threadIdx.x, i),
                            fragment_column(threadIdx.x, i));
        Tile::Sums::write(smem.sums, acc, block * 64, 0);
    }
    cluster_sync(); // the sums of all CTAs are there
    Tile::Sums::add(d, m, n, smem.sums, PARTS, TILE_ROW, TILE_COLUMN, threadIdx.x,
                    WARPGROUP_THREADS);
    cluster_sync_relaxed(); // no CTA leaves while another one may still read its sums
}

// D ends 5 rows before the tile does, and `cut` columns: rows of D of any length.
template <int WIDTH, bool EXCHANGED>
static void expect_gathered(int cut) {
    using Tile = GatheredTile<WIDTH, EXCHANGED>;
    const int m = TILE_ROW + Tile::ROWS - 5, n = TILE_COLUMN + Tile::COLUMNS - cut;
    std::vector<uint16_t> expected(m * n, UNWRITTEN);
    for (int row = TILE_ROW; row < m; ++row)
        for (int column = TILE_COLUMN; column < n; ++column) {
            const int i = row - TILE_ROW, j = column - TILE_COLUMN;
            float sum = 0;
            for (int part = 0; part < PARTS; ++part)
                sum += EXCHANGED ? sum_of(part, j, i) : sum_of(part, i, j);
            expected[row * n + column] = bf16_bits(sum);
        }
    const DeviceArray<uint16_t> d(m * n, UNWRITTEN);
    run(gather_sums<WIDTH, EXCHANGED>, {PARTS, WARPGROUP_THREADS, PARTS, sizeof(Tile)},
        reinterpret_cast<bf16 *>(d.device), m, n);
    expect_equal(d.read(), expected, n, std::to_string(n) + " columns");
}

static void parts_gathered() {
    for (int cut : {4, 5, 6}) {
        expect_gathered<24, false>(cut);
        expect_gathered<24, true>(cut);
    }
}
