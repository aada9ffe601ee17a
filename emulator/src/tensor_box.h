// Tensor maps, and the box of a tensor that a TMA copy moves. (CUDA Driver API:
// cuTensorMapEncodeTiled.)
#pragma once

#include "emulator/asynchronous.h"

#include <cstdint>
#include <functional>
#include <numeric>

namespace emulator {
constexpr int MOST_DIMENSIONS = 5;
// What moves together under a swizzle.
constexpr std::uint32_t SWIZZLE_CHUNK = 16;
// Bytes within which a swizzle moves chunks: 32, 64 or 128 for 1, 2 or 3.
constexpr std::uint32_t swizzle_span(int swizzle) { return SWIZZLE_CHUNK << swizzle; }

// Where a swizzle moves a shared address: chunks are permuted within 8 rows of 128, 64 or 32 bytes.
// As in CUtensorMapSwizzle: 0 none, 1 32B, 2 64B, 3 128B. (PTX ISA: Swizzling.)
constexpr std::uint32_t swizzle_address(std::uint32_t address, int swizzle) {
    // Mode s changes s bits, from bit 4 on: XOR with those from bit 7 on.
    const std::uint32_t bits = (1u << swizzle) - 1;
    return address ^ ((address >> 7 & bits) << 4);
}

constexpr std::uint64_t TENSOR_MAP_MARK = 0x70616d20726f736e;
constexpr std::uintptr_t TENSOR_MAP_ALIGNMENT = 64;

// What a tensor map holds; it is stored inside the 128 bytes of a CUtensorMap.
struct TensorDescription {
    std::uint64_t mark = TENSOR_MAP_MARK; // tells an encoded map from anything else
    unsigned char *base;
    std::uint64_t sizes[MOST_DIMENSIONS] = {};       // elements, the contiguous dimension first
    std::uint64_t strides[MOST_DIMENSIONS - 1] = {}; // bytes, from the second dimension on
    std::uint16_t box[MOST_DIMENSIONS] = {};         // elements
    std::uint8_t rank;
    std::uint8_t element_bytes;
    std::uint8_t swizzle = 0; // CUtensorMapSwizzle
    std::uint8_t type = 0;    // CUtensorMapDataType
    bool is_bulk = false;     // a copy without a tensor: its tile is aligned to 16 bytes
};
static_assert(sizeof(TensorDescription) <= 128, "it has to fit in a CUtensorMap");

// The box of a map whose first element is at these coordinates, and its tile in shared memory.
// Parts of it may lie outside of the tensor, on any side.
struct Box {
    TensorDescription tensor;
    Coordinates at;
    std::uint32_t tile = 0;    // offset
    std::uint64_t inside = 0;  // bytes inside of the tensor
    const void *map = nullptr; // if it is in global memory

    std::uint32_t row_bytes() const { return std::uint32_t(tensor.box[0]) * tensor.element_bytes; }
    std::uint32_t rows() const {
        return std::accumulate(tensor.box + 1, tensor.box + tensor.rank, 1u, std::multiplies<>());
    }
    std::uint32_t bytes() const { return row_bytes() * rows(); }
};

// The part of a box's row that lies inside of the tensor.
struct BoxRow {
    std::uint32_t offset; // in the box, before swizzling
    std::uint32_t bytes;
    unsigned char *global; // where they are
};

// Calls visit for each row that is not outside of the tensor, in the order of their offsets.
void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit);

// Calls visit for each piece of the tile in the CTA's shared memory, with its offset in the box and
// its bytes: everything at once, or chunks of 16 bytes that a swizzle has moved.
using PieceVisitor = std::function<void(unsigned char *, std::uint32_t at, std::uint32_t count)>;
void walk_pieces(const Box &box, const Cta &cta, const PieceVisitor &visit);
} // namespace emulator
