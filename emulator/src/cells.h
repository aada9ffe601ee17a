// Shadow cells: of each byte of shared and global memory the last write and the reads since. A pair
// of accesses, one of them a write, that order.h does not order is reported; so is an access of the
// async proxy to what the generic proxy touched with no proxy fence between, and a read of what was
// never written.
#pragma once

#include "order.h"
#include "emulator/emulator.h"
#include "emulator/report.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace emulator {
// The last write of some bytes and the reads since; and who had written before that write, by
// whom a report tells which of two accesses came too early.
struct Cell {
    order::Epoch write, before, read;
    std::vector<order::Epoch> more; // reads
    std::vector<order::Epoch> sum;  // changes in any order, of which `write` is the last
};

// 1024 bytes: one cell until a part of them is accessed; then cells of 16, 4, 2 or 1 bytes.
struct Page {
    static constexpr std::size_t BYTES = 1024;
    std::vector<Cell> cells = std::vector<Cell>(1);
    int shift = 10; // of the bytes of a cell
};

// Those of a CTA's shared memory, by offset / 1024, or of global memory, by address / 1024.
using Pages = std::unordered_map<std::uintptr_t, Page>;

struct Cta;
struct Thread;
struct Warp;

// How strong an access is: accesses of atomics do not race with each other within their scope.
// A volatile access is a relaxed one for a flag (its writer has fenced), and else as weak as any.
// (PTX ISA: Memory Consistency Model, Morally Strong Operations; ld: .volatile.)
// A constant one is of what the kernel never writes. (PTX ISA: ld.global.nc.)
enum class Strength : std::uint8_t { WEAK, VOLATILE, ATOMIC, CONSTANT };

struct CellAccess {
    bool is_write;
    Origin where;
    Strength strength = Strength::WEAK;
    Scope scope = Scope::SYS;
    bool reads_too = false; // a write that does
    bool later = false;     // it is an operation that will read: the thread is only asked for order
    bool of_map = false;    // a tensor map, which has fences of its own
    const char *of = "";    // what, in a report: " of B"
    const char *commuting = nullptr; // which change, if it is one whose result no thread sees
};

// The running agent accesses these bytes of a CTA's shared memory, or of global memory (anything
// else that is no thread's stack). Ends the program if a rule is broken.
void access_shared(Cta &cta, std::uint32_t offset, std::size_t bytes, const CellAccess &access);
// Many parts of 16 bytes, aligned to them.
void access_shared_chunks(Cta &cta, const std::vector<std::uint32_t> &offsets,
                          const CellAccess &access);
void access_global(const void *address, std::size_t bytes, const CellAccess &access);

// Bank conflicts: what the lanes of a warp touched at once. Which accesses belong to one
// instruction follows from the order in which each lane makes them. Shared memory has 32 banks of 4
// bytes, and one pass over them serves 128 bytes at most, of different banks or of the same words.
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
