// What a launch did, in numbers that do not depend on the machine it was emulated on.
#pragma once

#include <cstdint>

namespace emulator {

struct Counts {
    std::uint64_t global_read_bytes, global_written_bytes; // by plain loads and stores
    std::uint64_t tma_read_bytes, tma_written_bytes;       // from and to global memory
    std::uint64_t tma_loads, tma_stores;                   // instructions
    std::uint64_t multicast_bytes; // into shared memory beyond the first CTA
    std::uint64_t copied_bytes;    // by cp.async, from global memory
    std::uint64_t wgmmas, mmas;    // instructions: per warpgroup, per warp
    std::uint64_t multiply_adds;   // on the tensor cores
    std::uint64_t mbarrier_arrivals, mbarrier_waits, mbarrier_waits_blocked;
    std::uint64_t barrier_waits, barrier_waits_blocked; // bar.sync and barrier.cluster
    std::uint64_t ring_slots;      // mbarriers that loads complete on, in one CTA
    std::uint64_t ring_ahead_most; // phases of loads issued before a consumer waited for them
    std::uint64_t ring_ahead_sum, ring_ahead_samples; // one sample per wait of a consumer
    std::uint64_t threads, ctas, clusters;
    std::uint64_t switches; // between threads: the emulator's own work
};

// Of the launch that runs, or of the last one.
extern Counts counts;

} // namespace emulator
