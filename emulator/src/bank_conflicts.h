// Bank conflicts. Which accesses of a warp's lanes belong to one instruction follows from the order
// in which each lane makes them. Shared memory has 32 banks of 4 bytes, and one pass over them
// serves 128 bytes at most, of different banks or of the same words. The functions that accesses.h
// declares for matrices, warps and sites are here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

struct Thread;

// What the lanes of a warp touched at once.
struct WarpAccess {
    std::uint32_t lanes = 0; // the lanes that took part
    std::uint32_t offsets[32] =
        {}; // where each of them begins, in bytes of the CTA's shared memory
};

// Each group is the lanes' accesses at one instruction, each lane's k-th since the warp last
// synchronised.
struct OpenInstruction {
    std::uint32_t occurrences[32] = {}; // of each lane
    std::vector<WarpAccess> groups;
};

// The accesses of a warp's lanes since they last synchronised.
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
