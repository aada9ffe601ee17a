// Shadow cells: of each byte of shared and global memory the last write and the reads since. A pair
// of accesses, one of them a write, that order.h does not order is reported; so is an access of the
// async proxy to what the generic proxy touched with no proxy fence between, and a read of what was
// never written.
#pragma once

#include "order.h"
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
} // namespace emulator
