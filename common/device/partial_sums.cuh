// Sums that several CTAs make of one tile, each of a part of k. Each CTA writes its own to a
// workspace; the one that arrives last adds them all. Which CTA that is differs from run to run;
// the order of the additions does not, so the result is the same, bit for bit. Or the CTAs are a
// cluster, and each adds a share of the rows, from the shared memory of all.
#pragma once

#include "device/arrival.cuh"
#include "device/cluster_sums.cuh"
#include "device/vector.cuh"

// Writes the calling thread's accumulators, four at a time; `sums` is its warpgroup's place in the
// workspace, BLOCKS * COUNT * 128 values. Neighbouring threads write neighbouring 16 bytes.
template <int BLOCKS, int COUNT>
DEVICE void write_sums(float4 *sums, const float (&acc)[BLOCKS][COUNT]) {
    static_assert(COUNT % 4 == 0, "four sums are 16 bytes");
    float4 *to = sums + threadIdx.x % WARPGROUP_THREADS;
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
        for (int i = 0; i < COUNT; i += 4, to += WARPGROUP_THREADS)
            *to =
                make_float4(acc[block][i], acc[block][i + 1], acc[block][i + 2], acc[block][i + 3]);
}

// acc = the sum of `parts` parts, in their order, as write_sums wrote them: the first at `sums`,
// each next one `stride` float4s further on. The thread has to be ordered after all their writes.
template <int BLOCKS, int COUNT>
DEVICE void add_sums(float (&acc)[BLOCKS][COUNT], const float4 *sums, int parts, int stride) {
#pragma unroll
    for (int i = 0; i < BLOCKS * COUNT; ++i)
        acc[i / COUNT][i % COUNT] = 0;
    for (int part = 0; part < parts; ++part) {
        const float4 *from = sums + part * stride + threadIdx.x % WARPGROUP_THREADS;
#pragma unroll
        for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
            for (int i = 0; i < COUNT; i += 4, from += WARPGROUP_THREADS) {
                const float4 four = *from;
                acc[block][i] += four.x;
                acc[block][i + 1] += four.y;
                acc[block][i + 2] += four.z;
                acc[block][i + 3] += four.w;
            }
    }
}
