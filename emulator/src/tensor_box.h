// Tensor maps, and the box of a tensor that a TMA copy moves. (CUDA Driver API:
// cuTensorMapEncodeTiled.)
#pragma once

#include "emulator/site.h"
#include "emulator/tma.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

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

// What a tensor map holds; it is stored inside the 128 bytes of a CUtensorMap.
struct TensorDescription {
    std::uint64_t mark; // tells an encoded map from anything else
    unsigned char *base;
    std::uint64_t sizes[MOST_DIMENSIONS];       // elements, the contiguous dimension first
    std::uint64_t strides[MOST_DIMENSIONS - 1]; // bytes, from the second dimension on
    std::uint16_t box[MOST_DIMENSIONS];         // elements
    std::uint8_t rank;
    std::uint8_t element_bytes;
    std::uint8_t swizzle; // CUtensorMapSwizzle
    std::uint8_t type;    // CUtensorMapDataType
    bool is_bulk;         // a copy without a tensor: its tile is aligned to 16 bytes
};
static_assert(sizeof(TensorDescription) <= 128, "it has to fit in a CUtensorMap");

constexpr std::uint64_t TENSOR_MAP_MARK = 0x70616d20726f736e;
constexpr std::uintptr_t TENSOR_MAP_ALIGNMENT = 64;

// The part of a box, in one dimension, that lies inside of the tensor: coordinates begin to end
// - 1.
struct Overlap {
    std::int64_t begin, end;

    Overlap(std::int64_t first, std::int64_t extent, std::uint64_t size)
        : begin(std::max<std::int64_t>(first, 0)),
          end(std::max(begin, std::min(first + extent, std::int64_t(size)))) {}
    std::uint64_t count() const { return std::uint64_t(end - begin); }
};

// The part of a box's row that lies inside of the tensor.
struct BoxRow {
    std::uint32_t offset; // in the box, before swizzling
    std::uint32_t bytes;
    unsigned char *global; // where they are
};

// The box of a map whose first element is at these coordinates; parts of it may lie outside of the
// tensor, on any side.
struct Box {
    TensorDescription tensor;
    Coordinates at;

    std::uint32_t row_bytes() const { return std::uint32_t(tensor.box[0]) * tensor.element_bytes; }
    std::uint32_t rows() const {
        std::uint32_t product = 1;
        for (int i = 1; i < tensor.rank; ++i)
            product *= tensor.box[i];
        return product;
    }
    std::uint32_t bytes() const { return row_bytes() * rows(); }
    Overlap overlap(int dimension) const {
        return {at.at[dimension], tensor.box[dimension], tensor.sizes[dimension]};
    }
    std::uint64_t elements_inside() const {
        std::uint64_t product = 1;
        for (int i = 0; i < tensor.rank; ++i)
            product *= overlap(i).count();
        return product;
    }
    std::uint64_t bytes_inside() const { return elements_inside() * tensor.element_bytes; }
};

// Calls visit for each row that is not outside of the tensor, in the order of their offsets.
void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit);

// The shared memory that belongs to a box whose tile begins at offset `tile`. Calls visit for each
// piece with its offset in shared memory, its offset in the box, and its bytes: everything at once,
// or chunks of 16 bytes that a swizzle has moved.
void walk_pieces(const Box &box, std::uint32_t tile,
                 const std::function<void(std::uint32_t, std::uint32_t, std::uint32_t)> &visit);

} // namespace emulator
