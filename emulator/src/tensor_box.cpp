#include "tensor_box.h"

#include "machine.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <cstring>

namespace emulator {
void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit) {
    const TensorDescription &tensor = box.tensor;
    const std::int64_t begin = std::max(box.at.at[0], 0);
    const std::int64_t end =
        std::min(std::int64_t(box.at.at[0]) + tensor.box[0], std::int64_t(tensor.sizes[0]));
    if (begin >= end)
        return;
    const std::uint32_t skipped = std::uint32_t(begin - box.at.at[0]) * tensor.element_bytes;
    const std::uint32_t bytes = std::uint32_t(end - begin) * tensor.element_bytes;
    std::int64_t place[MOST_DIMENSIONS]; // of the row
    std::copy_n(box.at.at, tensor.rank, place);
    for (std::uint32_t row = 0, rows = box.rows(); row < rows; ++row) {
        bool inside = true;
        std::int64_t offset = begin * tensor.element_bytes;
        for (int i = 1; i < tensor.rank; ++i) {
            inside &= place[i] >= 0 && std::uint64_t(place[i]) < tensor.sizes[i];
            offset += place[i] * std::int64_t(tensor.strides[i - 1]);
        }
        if (inside)
            visit({row * box.row_bytes() + skipped, bytes, tensor.base + offset});
        for (int i = 1; i < tensor.rank && ++place[i] == box.at.at[i] + tensor.box[i]; ++i)
            place[i] = box.at.at[i];
    }
}

void walk_pieces(const Box &box, const Cta &cta, const PieceVisitor &visit) {
    const std::uint32_t bytes = box.bytes();
    const std::uint32_t count = box.tensor.swizzle == 0 ? bytes : SWIZZLE_CHUNK;
    // The bits of the address decide, not those of the offset in the tile.
    for (std::uint32_t at = 0; at < bytes; at += count) {
        const std::uint32_t place =
            swizzle_address(SHARED_BASE + box.tile + at, box.tensor.swizzle);
        visit(cta.shared.generic(place - SHARED_BASE, count), at, count);
    }
}
} // namespace emulator

static bool aligned(const void *pointer, std::uintptr_t alignment) {
    return pointer != nullptr && std::uintptr_t(pointer) % alignment == 0;
}

// Bytes of an element, by CUtensorMapDataType.
static constexpr std::uint8_t ELEMENT_BYTES[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static bool are_valid(cuuint32_t rank, const cuuint64_t *sizes, const cuuint64_t *strides,
                      const cuuint32_t *box, const cuuint32_t *element_strides) {
    if (rank < 1 || rank > emulator::MOST_DIMENSIONS)
        return false;
    for (cuuint32_t i = 0; i < rank; ++i)
        if (sizes[i] == 0 || sizes[i] > std::uint64_t(1) << 32 || box[i] == 0 || box[i] > 256 ||
            element_strides[i] == 0 || element_strides[i] > 8)
            return false;
    for (cuuint32_t i = 0; i + 1 < rank; ++i)
        if (strides[i] % 16 != 0 || strides[i] >= std::uint64_t(1) << 40)
            return false;
    return true;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *sizes, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
    if (std::size_t(type) >= std::size(ELEMENT_BYTES) ||
        !aligned(map, emulator::TENSOR_MAP_ALIGNMENT) || !aligned(base, 16) ||
        !are_valid(rank, sizes, strides, box, element_strides))
        return CUDA_ERROR_INVALID_VALUE;
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
        fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
        std::any_of(element_strides, element_strides + rank, [](auto by) { return by != 1; })) {
        std::fputs("cuTensorMapEncodeTiled: the emulator models no interleaved layouts, element "
                   "strides, NaNs outside of the tensor, or further swizzles\n",
                   stderr);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    emulator::TensorDescription made = {.base = static_cast<unsigned char *>(base),
                                        .rank = std::uint8_t(rank),
                                        .element_bytes = ELEMENT_BYTES[type],
                                        .swizzle = std::uint8_t(swizzle),
                                        .type = std::uint8_t(type)};
    const std::uint32_t row = box[0] * made.element_bytes;
    if (row % 16 != 0 ||
        (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && row > emulator::swizzle_span(swizzle)))
        return CUDA_ERROR_INVALID_VALUE;
    std::copy_n(sizes, rank, made.sizes);
    std::copy_n(box, rank, made.box);
    std::copy_n(strides, rank - 1, made.strides);
    std::memcpy(map, &made, sizeof made);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_SUCCESS               ? "CUDA_SUCCESS"
            : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
                                                : "CUDA_ERROR_NOT_SUPPORTED";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **words) {
    *words = cudaGetErrorString(cudaError_t(error)); // they have the same numbers
    return CUDA_SUCCESS;
}
