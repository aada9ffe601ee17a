// An operand of wgmma in shared memory, as its descriptor describes it.
#pragma once

#include "emulator/report.h"
#include "tensor_box.h"

#include <cstdint>

namespace emulator {

struct Cta;

// K_BYTES of K for each row of A or column of B, in 16-byte chunks. Lines of chunks are rows (of A,
// or columns of B) if the operand is K-major, with 2 chunks each, and the 16 columns of K if it is
// MN-major (transposed), with one chunk for 8 rows. The parts of eight lines and of `span` bytes of
// each are contiguous, and swizzled. (PTX ISA: wgmma, Matrix Descriptor Format; Strides; Canonical
// Layouts.)
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

} // namespace emulator
