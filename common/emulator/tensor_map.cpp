// Tensor maps: what cuTensorMapEncodeTiled accepts.
#include "emulator/copy.h"
#include "emulator/tensor_box.h"
#include "emulator/tma.h"

namespace emulator {

namespace {

constexpr int CUDA_SUCCESS_CODE = 0;
constexpr int CUDA_ERROR_INVALID_VALUE_CODE = 1;
constexpr int LARGEST_SWIZZLE = 3; // CU_TENSOR_MAP_SWIZZLE_128B

bool aligned(const void *pointer, std::uintptr_t alignment) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

bool sizes_allowed(int rank, const std::uint64_t *size, const std::uint64_t *stride) {
    for (int i = 0; i < rank; ++i)
        if (size[i] == 0 || size[i] > std::uint64_t(1) << 32)
            return false;
    for (int i = 0; i + 1 < rank; ++i)
        if (stride[i] % 16 != 0 || stride[i] >= std::uint64_t(1) << 40)
            return false;
    return true;
}

bool box_allowed(int rank, int element_bytes, const std::uint32_t *box,
                 const std::uint32_t *element_stride, int swizzle) {
    for (int i = 0; i < rank; ++i)
        if (box[i] == 0 || box[i] > 256 || element_stride[i] != 1)
            return false;
    const std::uint32_t row = box[0] * std::uint32_t(element_bytes);
    return row % 16 == 0 && (swizzle == 0 || row <= swizzle_span(swizzle));
}

} // namespace

int encode_tensor(void *map, int rank, int element_bytes, void *base, const std::uint64_t *size,
                  const std::uint64_t *stride, const std::uint32_t *box,
                  const std::uint32_t *element_stride, int swizzle, bool fill_nan) {
    const bool element =
        element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
    const bool pointers = map != nullptr && aligned(map, TENSOR_MAP_ALIGNMENT) && base != nullptr &&
                          aligned(base, 16) && size != nullptr && box != nullptr &&
                          element_stride != nullptr;
    if (rank < 1 || rank > TENSOR_RANK || !element || !pointers ||
        (stride == nullptr && rank > 1) || swizzle < 0 || swizzle > LARGEST_SWIZZLE ||
        (fill_nan && element_bytes == 1) || !sizes_allowed(rank, size, stride) ||
        !box_allowed(rank, element_bytes, box, element_stride, swizzle))
        return CUDA_ERROR_INVALID_VALUE_CODE;

    TensorDescription made{};
    made.mark = TENSOR_MAP_MARK;
    made.base = base;
    for (int i = 0; i < rank; ++i) {
        made.size[i] = size[i];
        made.box[i] = std::uint16_t(box[i]);
        if (i > 0)
            made.stride[i - 1] = stride[i - 1];
    }
    made.rank = std::uint8_t(rank);
    made.element_bytes = std::uint8_t(element_bytes);
    made.swizzle = std::uint8_t(swizzle);
    made.fill_nan = fill_nan;
    copy_bytes(map, &made, sizeof(made));
    return CUDA_SUCCESS_CODE;
}

} // namespace emulator
