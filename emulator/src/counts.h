// What a launch did.
#pragma once

#include "emulator/emulator.h"

#include <cstdint>

namespace emulator {

struct Counts : emulator_counts {
    std::uint64_t ring_ahead_sum, ring_ahead_samples; // of ring_ahead_mean
};

// Those of the running launch, or else of the last one.
extern Counts counts;

} // namespace emulator
