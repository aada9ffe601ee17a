// Where each SM is on the chip: in which GPC, and beside which half of the L2. No API says so; both
// are measured. Neighbours should compute neighbouring tiles. Where a measurement fails, or an SM
// holds several CTAs, only time is lost.
#pragma once

#include "device/clock.cuh"
#include "device/launch.cuh"

#include <algorithm>
#include <numeric>
#include <vector>

constexpr int PROBED_LINES = 64;    // enough for both halves to have many
constexpr int PROBED_BYTES = 16384; // from one line to the next
constexpr int PORTABLE_CLUSTER = 8; // CTAs that a cluster may have on any GPU that has clusters

// Stores each CTA's SM.
static __global__ void note_sms(int *sm_of_cta) { sm_of_cta[blockIdx.x] = sm_index(); }

// Stores how many cycles a few atomics take that wait for each other, [SM][line]. One CTA on each
// SM. Atomics are carried out in the half of the L2 that the line belongs to: from the other half's
// SMs each takes some 200 cycles longer on an H200. (NVIDIA H100 Tensor Core GPU Architecture, L2
// cache.)
static __global__ void probe_l2(int *memory, int *took) {
    constexpr int ATOMICS = 8;
    const int sm = sm_index();
    for (int i = 0; sm < int(gridDim.x) && i < PROBED_LINES; ++i) {
        const int line = (sm + i) % PROBED_LINES; // few SMs are at a line at the same time
        int *where = &memory[line * (PROBED_BYTES / int(sizeof(int)))];
        const uint64_t begin = cycles();
        for (int atomic = 0; atomic < ATOMICS; ++atomic)
            where += atomicAdd(where, 0); // it is 0
        took[sm * PROBED_LINES + line] = int(cycles() - begin);
    }
}

// Stores each SM's GPC in (*gpc)[SM], as the least of its SMs. The CTAs of a cluster are on one GPC
// (CUDA C++ Programming Guide, Thread Block Clusters): SMs that a cluster ever had together are
// neighbours. `smem` is an SM's whole shared memory, `noted` has room for 2 * sms.
inline int find_gpcs(std::vector<int> *gpc, int sms, int smem, int *noted) {
    gpc->resize(sms);
    std::iota(gpc->begin(), gpc->end(), 0);
    for (int size = 2; size <= PORTABLE_CLUSTER; ++size) { // of different sizes: clusters overlap
        std::vector<int> sm(2 * sms / size * size);
        if (launch(note_sms, dim3(sm.size()), dim3(1), dim3(size), smem, nullptr, noted) ||
            launch_check(
                cudaMemcpy(sm.data(), noted, sm.size() * sizeof(int), cudaMemcpyDeviceToHost),
                "reading the SMs of clusters"))
            return 1;
        for (size_t i = 0; i < sm.size(); ++i) {
            const int first = sm[i / size * size];
            if (sm[i] >= sms || first >= sms)
                continue;
            const auto [least, other] = std::minmax((*gpc)[first], (*gpc)[sm[i]]);
            std::replace(gpc->begin(), gpc->end(), int(other), int(least));
        }
    }
    return 0;
}

// Says of each SM which half of the L2 its GPC is beside, the first SM's or the other, from what
// probe_l2 stored: the times of SMs beside different halves rise and fall against each other.
inline std::vector<bool> other_half(const std::vector<int> &took, const std::vector<int> &gpc) {
    const int sms = int(gpc.size());
    std::vector<double> line_mean(PROBED_LINES), sm_mean(sms), together(sms); // [GPC]
    double mean = 0;
    for (size_t i = 0; i < took.size(); ++i) {
        line_mean[i % PROBED_LINES] += double(took[i]) / sms;
        sm_mean[i / PROBED_LINES] += double(took[i]) / PROBED_LINES;
        mean += double(took[i]) / double(took.size());
    }
    const auto apart = [&](int sm, int line) { // from what the SM and the line make of it
        return took[sm * PROBED_LINES + line] - sm_mean[sm] - line_mean[line] + mean;
    };
    for (int sm = 0; sm < sms; ++sm)
        for (int line = 0; line < PROBED_LINES; ++line)
            together[gpc[sm]] += apart(sm, line) * apart(0, line);
    std::vector<bool> other(sms);
    for (int sm = 0; sm < sms; ++sm)
        other[sm] = together[gpc[sm]] < 0;
    return other;
}

// Stores in (*place)[SM] each SM's place in a row of all SMs in which neighbours are neighbours:
// those beside one half of the L2 come first, and of each half GPC by GPC. It takes some
// milliseconds.
inline int place_sms(std::vector<int> *place) {
    int sms = 0, smem = 0, *memory = nullptr, *stored = nullptr;
    std::vector<int> gpc;
    if (multiprocessor_count(&sms) || max_dynamic_smem(&smem))
        return 1;
    std::vector<int> took(size_t(sms) * PROBED_LINES), row(sms);
    const size_t probed = size_t(PROBED_LINES) * PROBED_BYTES, bytes = took.size() * sizeof(int);
    const int failed =
        allow_dynamic_smem(note_sms, smem) || allow_dynamic_smem(probe_l2, smem) ||
        allocate_array(&memory, probed / sizeof(int)) || allocate_array(&stored, took.size()) ||
        launch_check(cudaMemset(memory, 0, probed), "zeroing device memory") ||
        launch_check(cudaMemset(stored, 0, bytes), "zeroing device memory") ||
        launch(probe_l2, dim3(sms), dim3(1), dim3(1), smem, nullptr, memory, stored) ||
        launch_check(cudaMemcpy(took.data(), stored, bytes, cudaMemcpyDeviceToHost),
                     "reading the L2's latencies") ||
        find_gpcs(&gpc, sms, smem, stored);
    release_array(memory);
    release_array(stored);
    if (failed)
        return 1;
    const std::vector<bool> other = other_half(took, gpc);
    std::iota(row.begin(), row.end(), 0);
    std::stable_sort(row.begin(), row.end(), [&](int a, int b) {
        return other[a] != other[b] ? other[a] < other[b] : gpc[a] < gpc[b];
    });
    place->resize(sms);
    for (int i = 0; i < sms; ++i)
        (*place)[row[i]] = i;
    return 0;
}

// Gives the calling thread's CTA, one of its launch, a number from 0 to gridDim.x - 1 that no other
// CTA has: that of its SM's place if it is free, else the next one. claims[0] counts the CTAs that
// ever asked, claims[1 + i] the launches in which number i was taken; all are 0 at first, and
// nothing needs to be reset. Launches that share them must not overlap.
DEVICE int claim_place(unsigned long long *claims, const int *place, int sms) {
    const int ctas = gridDim.x, sm = min(sm_index(), sms - 1);
    const unsigned long long launches = atomicAdd(&claims[0], 1) / ctas; // before this one
    int number = place[sm] * ctas / sms;
    while (atomicCAS(&claims[1 + number], launches, launches + 1) != launches)
        number = (number + 1) % ctas;
    return number;
}
