// Bank conflicts: what the lanes of a warp do together is told from the order in which each does
// it. Shared memory has 32 banks of 4 bytes, and one pass over them serves 128 bytes at most, of
// different banks or of the same words.
#pragma once

#include "emulator/accesses.h"

#include <cstdint>
#include <vector>

namespace emulator {

struct Thread;

// The thread's plain access at `pc` to up to 16 bytes of shared memory.
void bank_access(const Thread &thread, std::uint32_t offset, int bytes, bool is_write,
                 std::uintptr_t pc);

// See count_matrix_access().
void bank_matrix_access(const std::uint32_t *row_offsets, int matrices, bool is_write, Site where);

// See accesses_warp_met().
void bank_warp_met(const Cta &cta, int warp);

// Forgets everything.
void bank_reset();

// What was counted, by line; see access_sites().
std::vector<AccessSite> bank_sites();

} // namespace emulator
