// Plain loads and stores of the kernel. The rung is compiled with -fsanitize=thread, so that the
// compiler calls __tsan_read4(address) and the like before each access; accesses.cpp defines those
// functions. It finds bank conflicts, counts global bytes, records who wrote shared memory, and
// checks addresses. (-fno-tree-sra keeps a 16-byte access one access: without it the compiler reads
// the members of a uint4 one by one.)
#pragma once

#include "emulator/emulator.h"
#include "bank_conflicts.h"
#include "emulator/report.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

struct Warp;

// A matrix move of a warp touches rows of 16 bytes: eight rows (one matrix) at a time. Called by
// ldmatrix and stmatrix so that their conflicts are counted like those of plain accesses.
void count_matrix_access(const std::uint32_t *row_offsets, int matrices, bool is_write, Site where);

// The lanes of a warp have synchronised (a barrier, a warp function, the end of the CTA): their
// accesses before that are grouped by the order in which each lane made them.
void accesses_warp_met(Warp &warp);

// Shared-memory accesses of one line of source, over all warps.
struct AccessSite : emulator_access_site {
    WarpAccess worst; // the first access with worst_ways
};

// All sites of the last launch, the most extra wavefronts first. Asks addr2line.
std::vector<AccessSite> access_sites();

// From now on an access that the processor rejects, such as one past the end of a stack or a
// mapping, is reported as an ADDRESS mistake if a kernel's thread or an operation that it started
// makes it; any other such access ends the program as usual.
void report_faults();

// Forgets what was counted; at the beginning of a launch.
void accesses_reset();

} // namespace emulator
