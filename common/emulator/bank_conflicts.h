// Bank conflicts: what the lanes of a warp do together is told from the order in which each does
// it. Shared memory has 32 banks of 4 bytes, and one pass over them serves 128 bytes at most, of
// different banks or of the same words. What accesses.h says of matrices, meetings and sites is
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

struct Thread;

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

// What the lanes of a warp have done since they met last.
struct OpenAccesses {
    std::vector<OpenInstruction> open; // by the instruction's number
    std::vector<std::uint32_t> touched;
};

// The thread's plain access at `pc` to up to 16 bytes of shared memory.
void bank_access(const Thread &thread, std::uint32_t offset, int bytes, bool is_write,
                 std::uintptr_t pc);

// Forgets everything.
void bank_reset();

} // namespace emulator
