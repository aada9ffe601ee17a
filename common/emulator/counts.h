// What a launch did.
#pragma once

#include "emulator/emulator.h"

#include <cstdint>

namespace emulator {

struct Counts : emulator_counts {
    std::uint64_t ring_ahead_sum, ring_ahead_samples; // of ring_ahead_mean
};

// Of the launch that runs, or of the last one.
extern Counts counts;

} // namespace emulator
