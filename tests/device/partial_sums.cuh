// Arrivals of CTAs on a counter, and the sums of the parts of a tile, against their definitions.
#pragma once

#include "device/partial_sums.cuh"
#include "frame.cuh"

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
