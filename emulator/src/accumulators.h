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
    std::uint64_t group; // of the last wgmma on it
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
    bool fenced = false; // has it ever executed wgmma.fence?
    std::vector<AccumulatorRange> ranges;
    std::vector<RegisterWrite> written; // since the last fence, the first MOST_WRITES
    static constexpr std::size_t MOST_WRITES = 256;
};

// One wgmma of a warpgroup: complete once all 128 threads have called it.
struct Wgmma {
    WgmmaForm form;
    std::uint64_t a_descriptor, b_descriptor;
    Site site;                                         // of the first to call it
    std::vector<std::uint32_t> a_chunks{}, b_chunks{}; // of A: none if it is in registers
    std::vector<std::uint8_t> a{};                     // the operand
    float *sums[128] = {};
    std::vector<float *> apart[128] = {}; // of a thread, if they are not in a row
    std::uint64_t groups[128] = {};       // of each thread
    int arrived = 0;
    order::Carrier called{}; // from the callers to the operation
};

// A warpgroup's side: the wgmmas that are not done, in their order.
struct Warpgroup {
    std::uint64_t executed = 0; // number of slots.front()
    std::deque<Wgmma> slots;
    std::uint32_t agent = order::NO_AGENT; // of all: they complete one after the other

    Wgmma &slot(std::uint64_t number) { return slots[std::size_t(number - executed)]; }
};

// Why a thread does not come after the end of the wgmma, of its CTA, that made an access; and a
// note where another thread, that called it, told of it, if one did.
std::string why_wgmma_unwaited(const order::Epoch &wgmma, const Thread &thread,
                               std::vector<Note> &notes);

// ---------------------------------------------------------------------------- products
// The fragments that a warp's lanes hold, and the arithmetic of the tensor cores: products of
// 16-bit operands are exact in fp32, and their sums are rounded to fp32 one after the other, in the
// order of k.

constexpr int MMA_K = 16; // columns of A and rows of B of one instruction
constexpr int WGMMA_M = 64;
constexpr int WGMMA_LARGEST_N = 256;
constexpr int K_BYTES = 32; // of a row of A or a column of B

// Puts a lane's registers of A where they belong in 16 rows of K_BYTES: the second one eight rows
// below the first, the others to their right. (PTX ISA: wgmma.mma_async, Register Fragments.)
void place_registers(std::uint8_t *rows, int lane, const std::uint32_t (&registers)[4]);

// D = A * B, or D += A * B where the form says so. A lane's sums in eight columns of D are four:
// two neighbours, of row lane / 4 of its warp and of eight rows below. The bytes, which may be
// changed: K_BYTES for each row of A and column of B or, transposed, the rows or columns of k = 0,
// then of k = 1 and so on.
void multiply(const WgmmaForm &form, float *const *sums, std::uint8_t *a, std::uint8_t *b);
} // namespace emulator
