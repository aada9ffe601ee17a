// What a launch did.
#pragma once

#include "emulator/emulator.h"
#include "emulator/report.h"

#include <cstddef>
#include <cstdint>

namespace emulator {

struct Counts : emulator_counts {
    std::uint64_t ring_ahead_sum, ring_ahead_samples; // of ring_ahead_mean
};

// Those of the running launch, or else of the last one.
extern Counts counts;

// A launch begins: it has done nothing, nor written anything of the output that the host watches.
void counts_reset();

// The thread has written these bytes, by a store or a plain access. HAZARD if the launch had
// written an element of the output among them before: that is work done twice, if the values are
// the same, or depends on the order of the two stores.
void output_written(const Thread &thread, const void *address, std::size_t bytes,
                    const Origin &where);

} // namespace emulator
