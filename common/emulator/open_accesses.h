// What the lanes of a warp have done with shared memory since they met last (accesses.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

// What the lanes of a warp touched at once.
struct WarpAccess {
    std::uint32_t lanes = 0; // who took part
    std::uint32_t offsets[32] =
        {}; // where each of them begins, in bytes of the CTA's shared memory
};

// Each group is what lanes did at one instruction, each for the k-th time since the warp met.
struct OpenInstruction {
    std::uint32_t occurrences[32] = {}; // of each lane
    std::vector<WarpAccess> groups;
    std::size_t used = 0; // of groups; the memory of the others is kept
};

struct OpenAccesses {
    std::vector<OpenInstruction> open; // by the instruction's number
    std::vector<std::uint32_t> touched;
};

} // namespace emulator
