#include "emulator/tensor_box.h"

#include "emulator/shared_memory.h"

#include <algorithm>

namespace emulator {

std::uint32_t swizzle_address(std::uint32_t address, int swizzle) {
    // Mode s has s bits, which stand from bit 4 on and are changed by those from bit 7 on.
    const std::uint32_t bits = (1u << swizzle) - 1;
    return address ^ ((address >> 7 & bits) << 4);
}

std::uint32_t Box::row_bytes() const { return std::uint32_t(tensor.box[0]) * tensor.element_bytes; }

std::uint32_t Box::rows() const {
    std::uint32_t rows = 1;
    for (int i = 1; i < tensor.rank; ++i)
        rows *= tensor.box[i];
    return rows;
}

namespace {

// The part of a box in one dimension that lies inside of the tensor: coordinates begin to end - 1.
struct Overlap {
    std::int64_t begin, end;
    std::int64_t count() const { return std::max<std::int64_t>(end - begin, 0); }
};

Overlap overlap(const Box &box, int dimension) {
    const std::int64_t first = box.first[dimension];
    return {std::max<std::int64_t>(first, 0),
            std::min<std::int64_t>(first + box.tensor.box[dimension],
                                   std::int64_t(box.tensor.size[dimension]))};
}

std::uint64_t stride_of(const TensorDescription &tensor, int dimension) {
    return dimension == 0 ? tensor.element_bytes : tensor.stride[dimension - 1];
}

} // namespace

std::uint64_t Box::bytes_inside() const {
    std::uint64_t elements = 1;
    for (int i = 0; i < tensor.rank; ++i)
        elements *= std::uint64_t(overlap(*this, i).count());
    return elements * tensor.element_bytes;
}

void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit) {
    const TensorDescription &tensor = box.tensor;
    const Overlap columns = overlap(box, 0);
    const std::uint32_t inside = std::uint32_t(columns.count()) * tensor.element_bytes;
    unsigned char *base = static_cast<unsigned char *>(tensor.base);
    for (std::uint32_t row = 0; row < box.rows(); ++row) {
        std::uint64_t distance = std::uint64_t(columns.begin) * tensor.element_bytes;
        bool exists = inside > 0;
        std::uint32_t rest = row;
        for (int i = 1; i < tensor.rank; ++i) {
            const std::int64_t at = box.first[i] + rest % tensor.box[i];
            rest /= tensor.box[i];
            exists = exists && at >= 0 && std::uint64_t(at) < tensor.size[i];
            distance += std::uint64_t(at) * stride_of(tensor, i);
        }
        BoxRow visited{row * box.row_bytes(), 0, 0, nullptr};
        if (exists) {
            visited.inside = inside;
            visited.skipped = std::uint32_t(columns.begin - box.first[0]) * tensor.element_bytes;
            visited.global = base + distance;
        }
        visit(visited);
    }
}

void walk_pieces(const Box &box, std::uint32_t tile, std::uint32_t row_offset,
                 const std::function<void(std::uint32_t, std::uint32_t, std::uint32_t)> &visit) {
    const std::uint32_t bytes = box.row_bytes();
    if (box.tensor.swizzle == 0) {
        visit(tile + row_offset, 0, bytes);
        return;
    }
    for (std::uint32_t at = 0; at < bytes; at += SWIZZLE_CHUNK) {
        // The bits of the address decide, not those of the offset in the tile.
        const std::uint32_t address = SHARED_BASE + tile + row_offset + at;
        visit(swizzle_address(address, box.tensor.swizzle) - SHARED_BASE, at, SWIZZLE_CHUNK);
    }
}

GlobalSpan span_of(const Box &box) {
    std::uint64_t begin = 0;
    std::uint64_t last = 0; // the last element's first byte
    for (int i = 0; i < box.tensor.rank; ++i) {
        const Overlap part = overlap(box, i);
        if (part.count() == 0)
            return {nullptr, 0};
        begin += std::uint64_t(part.begin) * stride_of(box.tensor, i);
        last += std::uint64_t(part.end - 1) * stride_of(box.tensor, i);
    }
    return {static_cast<unsigned char *>(box.tensor.base) + begin,
            last - begin + box.tensor.element_bytes};
}

void fill_outside(const Box &box, unsigned char *row) {
    const int element = box.tensor.element_bytes;
    for (std::uint32_t i = 0; i < box.row_bytes(); ++i) {
        // A NaN of any float format: all bits but the sign, the highest byte last.
        const unsigned char nan = int(i) % element == element - 1 ? 0x7f : 0xff;
        row[i] = box.tensor.fill_nan ? nan : 0;
    }
}

} // namespace emulator
