// The state of a thread's and its warpgroup's wgmmas (tensor_core.h).
#pragma once

#include "operations.h"
#include "tensor_box.h"
#include "emulator/tensor_core.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace emulator {

// A range of a thread's accumulator registers (memory on its stack here), or of A's.
struct AccumulatorRange {
    const char *begin;
    std::size_t bytes;
    std::uint64_t wgmma; // the number of the last wgmma on it, in its warpgroup's order
    Site site;           // and where that was issued
    bool is_a = false;
    bool touched = false; // by other code since; a wgmma_fence() must come before the next wgmma
};

// A write of the thread to its own stack.
struct RegisterWrite {
    const char *begin;
    std::size_t bytes;
    std::uintptr_t pc;
};

// A thread's side of wgmma.
struct AccumulatorState {
    bool fenced = false;               // has it ever executed wgmma.fence?
    std::uint64_t issued = 0;          // wgmmas this thread has called so far
    std::vector<std::uint64_t> groups; // issued at each commit
    std::uint64_t waited = 0;          // wgmmas this thread knows to be complete
    std::vector<AccumulatorRange> ranges;
    std::vector<RegisterWrite> written; // since the last fence, the first MOST_WRITES
    static constexpr std::size_t MOST_WRITES = 256;
};

// An operand of wgmma in shared memory, as its descriptor describes it: K_BYTES of K for each row
// of A or column of B, in 16-byte chunks. Lines of chunks are rows (of A, or columns of B) if the
// operand is K-major, with 2 chunks each, and the 16 columns of K if it is MN-major (transposed),
// with one chunk for 8 rows. The parts of eight lines and of `span` bytes of each are contiguous,
// and swizzled. (PTX ISA: wgmma, Matrix Descriptor Format; Strides; Canonical Layouts.)
struct MatrixOperand {
    char name; // 'A' or 'B'
    bool transposed;
    std::uint64_t descriptor;     // what follows is decoded from it
    std::uint32_t start = 0;      // shared address of the first chunk, before the swizzle
    std::uint32_t lines = 0;      // rows or columns
    std::uint32_t chunks = 0;     // of a line
    std::uint32_t line_jump = 0;  // bytes from eight lines to the next eight
    std::uint32_t chunk_jump = 0; // from a span to the next one in a line
    int span_bits = 0;            // chunks in a span: 1 << span_bits
    int swizzle = 0;              // as in CUtensorMapSwizzle

    // Shared address of a chunk.
    std::uint32_t address(std::uint32_t line, std::uint32_t chunk) const {
        const std::uint32_t in_span = chunk & ((1u << span_bits) - 1);
        return swizzle_address(start + (line >> 3) * line_jump +
                                   (line & 7) * swizzle_span(swizzle) +
                                   (chunk >> span_bits) * chunk_jump + in_span * SWIZZLE_CHUNK,
                               swizzle);
    }
};

// Decodes the descriptor of an operand of that many rows (of A, or columns of B); fails with MISUSE
// if it is not such an operand with the pattern's alignment that lies inside of the current
// CTA's shared memory.
void decode_operand(MatrixOperand &operand, std::uint32_t rows, Site where);

// The wgmma that runs reads the operand's bytes, line after line.
void read_operand(Cta &cta, const MatrixOperand &operand, std::uint8_t *bytes, Site where);

// One wgmma of a warpgroup: complete once all 128 threads have called it.
struct Wgmma {
    WgmmaForm form;
    MatrixOperand a, b;
    std::vector<std::uint8_t> a_rows; // K_BYTES each, if A is in registers
    Site site;                        // of the first to call it
    float *sums[128] = {};
    int arrived = 0;
    int waited_by = 0;               // threads that know it to be complete
    order::Carrier called{}, done{}; // from the callers to the operation, and from it to those that
                                     // wait
};

// A warpgroup's side: the wgmmas in their order, the first `executed` of them done. Those that all
// threads have waited for are forgotten.
struct Warpgroup {
    std::uint64_t first = 0; // number of slots.front()
    std::deque<Wgmma> slots;
    std::uint64_t executed = 0;
    std::uint32_t agent = order::NO_AGENT; // of all: they complete one after the other
    WaitQueue waiting;

    Wgmma &slot(std::uint64_t number) { return slots[std::size_t(number - first)]; }
};

} // namespace emulator
