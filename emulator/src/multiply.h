// The fragments that a warp's lanes hold, and the arithmetic of the tensor cores: products of
// 16-bit operands are exact in fp32, and their sums are rounded to fp32 one after the other, in the
// order of k.
#pragma once

#include "emulator/tensor_core.h"

#include <cstdint>

namespace emulator {

constexpr int MMA_K = 16; // columns of A and rows of B of one instruction
constexpr int WGMMA_M = 64;
constexpr int WGMMA_LARGEST_N = 256;
constexpr int K_BYTES = 32; // of a row of A or a column of B

// Puts a lane's registers of A (4: the eight rows below, then the columns to the right) or B (2)
// where they belong in rows of K_BYTES. All fragments are made of matrices of 8 rows of 16 bytes,
// of which a lane's register holds 4. (PTX ISA: Matrix Fragments for mma.m16n8k16 with floating
// point type; wgmma.mma_async, Register Fragments.)
void place_registers(std::uint8_t *rows, int lane, const std::uint32_t *registers, int count);

// D = A * B, or D += A * B where the form says so, for `warps` times 16 rows of A. A lane's sums in
// eight columns of D are four: two neighbours, of row lane / 4 and of eight rows below. The bytes,
// which may be changed: K_BYTES for each row of A and column of B or, transposed, the rows or
// columns of k = 0, then of k = 1 and so on.
void multiply(const WgmmaForm &form, int warps, float *const *sums, std::uint8_t *a,
              std::uint8_t *b);

} // namespace emulator
