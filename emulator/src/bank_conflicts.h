// Bank conflicts. Which accesses of a warp's lanes belong to one instruction follows from the order
// in which each lane makes them. Shared memory has 32 banks of 4 bytes, and one pass over them
// serves 128 bytes at most, of different banks or of the same words.
#pragma once

#include "emulator/emulator.h"
#include "emulator/site.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace emulator {
struct Warp;
struct Thread;

// What the lanes of a warp touched at once.
struct WarpAccess {
    std::uint32_t lanes = 0;        // the lanes that took part
    std::uint32_t offsets[32] = {}; // in the CTA's shared memory, where each of them begins
};

// Each group is the lanes' accesses at one instruction, each lane's k-th since the warp last
// synchronised.
struct OpenInstruction {
    int bytes = 0;
    std::uint32_t occurrences[32] = {}; // of each lane
    std::vector<WarpAccess> groups;
};

// The accesses of a warp's lanes since they last synchronised, by twice the instruction's address,
// plus 1 if it writes.
using OpenAccesses = std::unordered_map<std::uintptr_t, OpenInstruction>;

// The thread's access at `pc` to up to 16 bytes of shared memory: a plain one, or a matrix move's
// to a row.
void bank_access(const Thread &thread, std::uint32_t offset, int bytes, bool is_write,
                 std::uintptr_t pc);

// The lanes of a warp have synchronised (a barrier, a warp function, the end of the CTA): their
// accesses before that are grouped by the order in which each lane made them.
void accesses_warp_met(Warp &warp);

// The shared-memory accesses of the last launch by their lines of source, over all warps, those
// with the most extra wavefronts first. Asks addr2line.
std::vector<emulator_access_site> access_sites();

// Forgets everything; at the beginning of a launch.
void bank_reset();
} // namespace emulator
