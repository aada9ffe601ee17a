#include "emulator/tensor_box.h"

#include "emulator/copy.h"
#include "emulator/shared_memory.h"

#include <cuda.h>

namespace emulator {

void walk_rows(const Box &box, const std::function<void(const BoxRow &)> &visit) {
    const std::uint32_t element = box.tensor.element_bytes;
    const Overlap columns = box.columns(), rows = box.rows();
    for (std::uint32_t row = 0; row < box.tensor.box_rows; ++row) {
        const std::int64_t at = box.row + row;
        BoxRow visited{row * box.row_bytes(), 0, 0, nullptr};
        if (at >= rows.begin && at < rows.end && columns.count() > 0) {
            visited.inside = std::uint32_t(columns.count()) * element;
            visited.skipped = std::uint32_t(columns.begin - box.column) * element;
            visited.global = box.global(columns.begin, at);
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

} // namespace emulator

static bool aligned(const void *pointer, std::uintptr_t alignment) {
    return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *sizes, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *element_strides,
                                CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    if (rank != 2 || !aligned(map, emulator::TENSOR_MAP_ALIGNMENT) || !aligned(base, 16) ||
        strides[0] % 16 != 0 || strides[0] >= std::uint64_t(1) << 40)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 2; ++i)
        if (sizes[i] == 0 || sizes[i] > std::uint64_t(1) << 32 || box[i] == 0 || box[i] > 256 ||
            element_strides[i] != 1)
            return CUDA_ERROR_INVALID_VALUE;
    const std::uint8_t element_bytes = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ? 2 : 4;
    const std::uint32_t row = box[0] * element_bytes;
    if (row % 16 != 0 ||
        (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && row > emulator::swizzle_span(swizzle)))
        return CUDA_ERROR_INVALID_VALUE;
    const emulator::TensorDescription made = {emulator::TENSOR_MAP_MARK,
                                              static_cast<unsigned char *>(base),
                                              sizes[0],
                                              sizes[1],
                                              strides[0],
                                              std::uint16_t(box[0]),
                                              std::uint16_t(box[1]),
                                              element_bytes,
                                              std::uint8_t(swizzle)};
    emulator::copy_bytes(map, &made, sizeof made);
    return CUDA_SUCCESS;
}
