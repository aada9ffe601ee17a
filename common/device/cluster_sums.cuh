// Sums that the CTAs of a cluster make of one tile, each of a part of k: each leaves its own in
// shared memory, and adds a share of the rows, which it reads from all of them.
#pragma once

#include "device/cluster.cuh"
#include "device/tile_store.cuh"
#include "device/vector.cuh"

// A tile of D, ROWS x COLUMNS, of which each CTA of a cluster has fp32 sums in its shared memory:
// rows that are PITCH apart. EXCHANGED: the accumulators are of D^T. CTAS of them, with
// neighbouring ranks, have a part of as many tiles, one each; the tiles' next parts follow.
template <int ROWS, int COLUMNS, int PITCH, bool EXCHANGED, int CTAS>
struct ClusterSums {
    // The warpgroup writes a block of accumulators, of which the first is that of (row, column) of
    // the tile, or of its transpose.
    template <int COUNT>
    static DEVICE void write(float *sums, const float (&acc)[COUNT], int row, int column) {
        const int thread = threadIdx.x % WARPGROUP_THREADS;
        const int first_row = row + thread / WARP_THREADS * 16 + thread % WARP_THREADS / 4;
        const int first_column = column + thread % 4 * 2;
#pragma unroll
        for (int i = 0; i < COUNT; i += 2) {
            const int r = first_row + i % 4 * 4;
            const int c = first_column + i / 4 * 8;
            if (EXCHANGED) {
                sums[c * PITCH + r] = acc[i];
                sums[(c + 1) * PITCH + r] = acc[i + 1];
            } else {
                *reinterpret_cast<float2 *>(&sums[r * PITCH + c]) = make_float2(acc[i], acc[i + 1]);
            }
        }
    }

    // Adds `parts` parts' sums of the calling CTA's share of the rows, in the order of their ranks,
    // and the bias, and writes them to D, in which the tile begins at (row, column). The CTA's
    // threads 0 to `threads` - 1 call it, a cluster_sync() after all wrote and one before a CTA
    // exits.
    static DEVICE void add(const Output &out, float *sums, int parts, int row, int column,
                           int thread, int threads) {
        constexpr int MOST_PARTS = 8; // CTAs of a cluster
        constexpr int FOURS = COLUMNS / 4;
        const int own = cluster_cta_rank() / CTAS; // part
        const int tile = cluster_cta_rank() % CTAS;
        const bool by_fours = (out.n | out.pitch) % 4 == 0;
        const int end = min(ROWS * (own + 1) / parts, out.m - row) * FOURS;
        for (int i = ROWS * own / parts * FOURS + thread; i < end; i += threads) {
            const int r = i / FOURS;
            const int c = i % FOURS * 4;
            // No CTA may leave while a sum of its is read: so nothing is read that isn't stored.
            if (column + c >= out.n)
                continue;
            float values[MOST_PARTS][4]; // all reads are in flight before the first addition
#pragma unroll
            for (int part = 0; part < MOST_PARTS; ++part)
                if (part < parts)
                    load4_cluster(values[part], &sums[r * PITCH + c], part * CTAS + tile);
#pragma unroll
            for (int part = 1; part < MOST_PARTS; ++part)
                for (int j = 0; j < 4 && part < parts; ++j)
                    values[0][j] += values[part][j];
            for (int j = 0; j < 4 && out.bias != nullptr; ++j)
                values[0][j] += bias_at(out, column + c + j);
            bf16 *to = &out.d[(row + r) * out.pitch + column + c];
            if (by_fours)
                *reinterpret_cast<uint2 *>(to) = make_uint2(pack_bf16(values[0][0], values[0][1]),
                                                            pack_bf16(values[0][2], values[0][3]));
            for (int j = 0; j < 4 && !by_fours && column + c + j < out.n; ++j)
                to[j] = __float2bfloat16_rn(values[0][j]);
        }
    }
};
