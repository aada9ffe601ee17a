// An operand of wgmma in shared memory, as its descriptor describes it.
#pragma once

#include "emulator/report.h"

#include <cstdint>

namespace emulator {

struct Cta;

// Rows of 16 columns, K-major, in the 128-byte swizzle: groups of eight rows that lie side by side,
// each row 128 bytes wide. (PTX ISA: wgmma, Matrix Descriptor Format; Strides.)
struct MatrixOperand {
    std::uint32_t start;  // shared address of the first row's first column, before the swizzle
    std::uint32_t stride; // bytes from one group of eight rows to the next
    int rows;
    char name; // 'A' or 'B'
};

// Decodes a descriptor; fails with MISUSE if it is not such an operand with the pattern's
// alignment that lies inside of the CTA's shared memory.
MatrixOperand decode_operand(const Cta &cta, char name, std::uint64_t descriptor, int rows,
                             Site where);

// Fails with HAZARD if a generic write to the operand has not been published. Returns a fingerprint
// of what the operand holds, by which a later change is noticed.
std::uint64_t check_operand(Cta &cta, const MatrixOperand &operand, Site where);

// Widens the operand to fp32: element (row, column) goes to values[row * row_step +
// column * column_step].
void read_operand(Cta &cta, const MatrixOperand &operand, float *values, int row_step,
                  int column_step);

} // namespace emulator
