// Which half of the L2 an SM is beside. The L2 has two halves, each with an atomic unit for its own
// lines: an SM's atomics on lines of the other half take some 200 cycles longer on an H200. No API
// says which SM is where, so it is measured. (NVIDIA H100 Tensor Core GPU Architecture, L2 cache.)
#pragma once

#include "device/clock.cuh"
#include "device/launch.cuh"

#include <vector>

constexpr int PROBED_LINES = 64;    // enough for both halves to have many
constexpr int PROBED_BYTES = 16384; // from one line to the next

// Stores how many cycles each CTA's atomics take, [CTA][line]: the least of a few.
static __global__ void probe_l2(int *memory, int *took) {
    constexpr int TRIES = 6;
    for (int line = 0; threadIdx.x == 0 && line < PROBED_LINES; ++line) {
        int least = 1 << 30;
        for (int i = 0; i < TRIES; ++i) {
            const uint64_t begin = cycles();
            // What was read is added, so that the second clock waits for it; it is 0.
            const int read = atomicAdd(&memory[line * (PROBED_BYTES / int(sizeof(int)))], 0);
            least = min(least, int(cycles() + read - begin));
        }
        took[blockIdx.x * PROBED_LINES + line] = least;
    }
}

// Says of each CTA which half it is in, 0 or 1, from [CTA][line]: the halves' times rise and fall
// against each other. The first CTA's is 0.
inline std::vector<int> halves_by_latency(const std::vector<int> &took) {
    const int ctas = int(took.size()) / PROBED_LINES;
    std::vector<double> line_mean(PROBED_LINES), apart(took.size());
    for (size_t i = 0; i < took.size(); ++i)
        line_mean[i % PROBED_LINES] += double(took[i]) / ctas;
    for (int cta = 0; cta < ctas; ++cta) {
        double mean = 0;
        for (int line = 0; line < PROBED_LINES; ++line)
            mean += (took[cta * PROBED_LINES + line] - line_mean[line]) / PROBED_LINES;
        for (int line = 0; line < PROBED_LINES; ++line)
            apart[cta * PROBED_LINES + line] =
                took[cta * PROBED_LINES + line] - line_mean[line] - mean;
    }
    std::vector<int> half(ctas);
    for (int cta = 0; cta < ctas; ++cta) {
        double with_first = 0;
        for (int line = 0; line < PROBED_LINES; ++line)
            with_first += apart[cta * PROBED_LINES + line] * apart[line];
        half[cta] = with_first < 0;
    }
    return half;
}

// Stores in *half which half each CTA of such a launch is in. Where an SM holds one CTA, the GPU
// places those of later launches in the same way; where it doesn't, only time is lost.
inline int l2_halves(std::vector<int> *half, int ctas, int threads, size_t smem) {
    int *memory = nullptr, *took = nullptr;
    const size_t bytes = size_t(PROBED_LINES) * PROBED_BYTES;
    std::vector<int> found(size_t(ctas) * PROBED_LINES);
    const int failed =
        allow_dynamic_smem(probe_l2, smem) || allocate_array(&memory, bytes / sizeof(int)) ||
        allocate_array(&took, found.size()) ||
        launch_check(cudaMemset(memory, 0, bytes), "zeroing device memory") ||
        launch(probe_l2, dim3(ctas), dim3(threads), dim3(1), smem, nullptr, memory, took) ||
        launch_check(
            cudaMemcpy(found.data(), took, found.size() * sizeof(int), cudaMemcpyDeviceToHost),
            "reading the L2's latencies");
    release_array(memory);
    release_array(took);
    if (!failed)
        *half = halves_by_latency(found);
    return failed;
}
