// An operand of wgmma in shared memory, as its descriptor describes it.
#pragma once

#include "formats/e4m3.h"
#include "emulator/report.h"
#include "tensor_box.h"

#include <cstdint>

namespace emulator {

struct Cta;

// How the operand is read.
struct OperandForm {
    char name; // 'A' or 'B'
    int rows;  // of A, or columns of B: M or N
    bool transposed = false;
    bool fp16 = false; // else bf16
    bool negated = false;
};

// 16 columns (K) of an operand in 16-byte chunks, or 32 of e4m3 in as many. Lines of chunks are
// rows if the operand is K-major, with 2 chunks each, and columns if it is MN-major, with one chunk
// for 8 rows. The parts of eight lines and of `span` bytes of each are contiguous, and swizzled.
// (PTX ISA: wgmma, Matrix Descriptor Format; Strides; Canonical Layouts.)
struct MatrixOperand : OperandForm {
    std::uint32_t start;      // shared address of the first chunk, before the swizzle
    std::uint32_t lines;      // rows or columns
    std::uint32_t chunks;     // of a line
    std::uint32_t line_step;  // bytes from a line to the next of its eight
    std::uint32_t line_jump;  // from eight lines to the next eight
    std::uint32_t chunk_jump; // from a span to the next one in a line
    int span_bits;            // chunks in a span: 1 << span_bits
    int swizzle;              // as in CUtensorMapSwizzle

    // Shared address of a chunk.
    std::uint32_t address(std::uint32_t line, std::uint32_t chunk) const {
        const std::uint32_t in_span = chunk & ((1u << span_bits) - 1);
        return swizzle_address(start + (line >> 3) * line_jump + (line & 7) * line_step +
                                   (chunk >> span_bits) * chunk_jump + in_span * SWIZZLE_CHUNK,
                               swizzle);
    }
};

// Decodes a descriptor; fails with MISUSE if it is not such an operand with the pattern's
// alignment that lies inside of the CTA's shared memory.
MatrixOperand decode_operand(const Cta &cta, std::uint64_t descriptor, const OperandForm &form,
                             Site where);

// The wgmma that runs reads the operand (cells.h).
void access_operand(Cta &cta, const MatrixOperand &operand, Site where);

// Widens the operand to fp32, and negates it if it is to be: element (row, column) goes to
// values[row * row_step + column * column_step].
void read_operand(Cta &cta, const MatrixOperand &operand, float *values, int row_step,
                  int column_step);

// The rows of an operand of e4m3, K-major; negated if it is to be.
void read_operand(Cta &cta, const MatrixOperand &operand, e4m3_group *rows);

// One of them from its bytes, which it changes.
void read_row(e4m3_group *row, std::uint8_t *bytes, bool negated);

} // namespace emulator
