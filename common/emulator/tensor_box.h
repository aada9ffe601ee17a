// The box of a tensor that a TMA copy moves, and the walk over its rows.
#pragma once

#include "emulator/tma.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace emulator {

// Bytes of a box's longest row: 256 elements of 8 bytes.
constexpr std::size_t LONGEST_ROW = 2048;
// What moves together under a swizzle.
constexpr std::uint32_t SWIZZLE_CHUNK = 16;
// Bytes within which a swizzle moves chunks: 32, 64 or 128 for 1, 2 or 3.
constexpr std::uint32_t swizzle_span(int swizzle) { return SWIZZLE_CHUNK << swizzle; }

constexpr std::uint64_t TENSOR_MAP_MARK = 0x70616d20726f736e; // TensorDescription's
constexpr std::uintptr_t TENSOR_MAP_ALIGNMENT = 64;

// The box of a map whose first element is at these coordinates; parts of it may lie outside of the
// tensor, on any side.
struct Box {
    TensorDescription tensor;
    std::int64_t first[TENSOR_RANK];

    std::uint32_t row_bytes() const;
    std::uint32_t rows() const;
    std::uint32_t bytes() const { return row_bytes() * rows(); }
    // Bytes of it that lie inside of the tensor.
    std::uint64_t bytes_inside() const;
};

// Elements of a box that differ in the first coordinate alone: they lie side by side.
struct BoxRow {
    std::uint32_t offset;  // of the row in the box, before swizzling
    std::uint32_t inside;  // bytes inside of the tensor; 0: none
    std::uint32_t skipped; // bytes of the row before those
    unsigned char *global; // where those are
};

// The box at `coordinates` of a map that a kernel names, and the offset of the shared memory it
// goes to or comes from. Fail for a map that is none, of another rank, or in global memory; for a
// tile that is not 128-byte aligned or reaches out of shared memory; for a tensor
// that reaches out of the global memory that there is. `copy` names the instruction.
Box checked_box(const void *map, const int *coordinates, int rank, const char *copy, Site where);
std::uint32_t checked_tile(const void *tile, const Box &box, const char *copy, Site where);

// Calls visit for each row, in the order of their offsets.
void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit);

// The shared memory that belongs to a row of a box whose tile begins at offset `tile`. Calls visit
// for each piece with its offset in shared memory, its offset in the row, and its bytes: the whole
// row at once, or chunks of 16 bytes that a swizzle has moved.
void walk_pieces(const Box &box, std::uint32_t tile, std::uint32_t row_offset,
                 const std::function<void(std::uint32_t, std::uint32_t, std::uint32_t)> &visit);

// The bytes of global memory from the first to the last element inside of the tensor. bytes is 0
// if there is none.
struct GlobalSpan {
    unsigned char *begin;
    std::size_t bytes;
};
GlobalSpan span_of(const Box &box);

// What the elements outside of the tensor read as: fills `row` with row_bytes() bytes of it.
void fill_outside(const Box &box, unsigned char *row);

} // namespace emulator
