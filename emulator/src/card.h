// The GPU that the emulated device resembles, in what a program can query: EMULATOR_CAPABILITY in
// the environment names its compute capability, such as 8.6; without it that is 9.0. (CUDA C++
// Programming Guide: Technical Specifications per Compute Capability.)
#pragma once

#include <cstddef>

namespace emulator {

constexpr std::size_t RESERVED_SHARED = 1024; // of each CTA, the system's

struct Card {
    const char *name;         // "8.6"
    int capability;           // 86
    std::size_t shared_of_sm; // bytes

    // Dynamic shared memory that a CTA may request, in bytes.
    std::size_t largest_shared() const { return shared_of_sm - RESERVED_SHARED; }
    bool has_clusters() const { return capability >= 90; }
};

// Ends the program with status 2 if there is no card of that name.
const Card &card();

} // namespace emulator
