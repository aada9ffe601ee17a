// Bank conflicts: what the lanes of a warp do together is told from the order in which each does
// it. Shared memory has 32 banks of 4 bytes, and one pass over them serves 128 bytes at most, of
// different banks or of the same words. What accesses.h says of matrices, meetings and sites is
// here.
#pragma once

#include "emulator/accesses.h"

#include <cstdint>

namespace emulator {

struct Thread;

// The thread's plain access at `pc` to up to 16 bytes of shared memory.
void bank_access(const Thread &thread, std::uint32_t offset, int bytes, bool is_write,
                 std::uintptr_t pc);

// Forgets everything.
void bank_reset();

} // namespace emulator
