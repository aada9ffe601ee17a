// Tensor maps: each describes to TMA a tensor in global memory and the box of it that a copy moves.
// They are made on the host.
// (PTX ISA: Tensors. CUDA Driver API: cuTensorMapEncodeTiled.)
#pragma once

#include "device/launch.cuh"
#include "device/swizzle.cuh"

#include <cuda.h>

using TensorMap = CUtensorMap;

// The type of the driver's function that makes a tensor map.
using TensorMapEncoder = decltype(&cuTensorMapEncodeTiled);

// The driver's encoder, found at run time: the program does not link the driver's library, so that
// it starts, and says what is missing, on a machine that has none. nullptr after printing one line.
inline TensorMapEncoder find_tensor_map_encoder() {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const int cuda_12_0 = 12000;
    if (launch_check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                      cuda_12_0, cudaEnableDefault, &found),
                     "asking the driver for cuTensorMapEncodeTiled of CUDA", cuda_12_0))
        return nullptr;
    if (found == cudaDriverEntryPointSuccess)
        return reinterpret_cast<TensorMapEncoder>(function);
    fprintf(stderr,
            "this driver has no cuTensorMapEncodeTiled: install one for CUDA 12.0 or later\n");
    return nullptr;
}

// The same, asked once in a process.
inline TensorMapEncoder tensor_map_encoder() {
    static const TensorMapEncoder encoder = find_tensor_map_encoder();
    return encoder;
}

// What a tensor map calls the type of its elements.
template <typename T>
constexpr CUtensorMapDataType tensor_map_type();
template <>
constexpr CUtensorMapDataType tensor_map_type<bf16>() {
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}
template <>
constexpr CUtensorMapDataType tensor_map_type<e4m3>() {
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}
template <>
constexpr CUtensorMapDataType tensor_map_type<float>() {
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}
template <>
constexpr CUtensorMapDataType tensor_map_type<int32_t>() {
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
}

// How many bytes the L2 fetches at least where a row of a box has fewer. Transposes read rows of
// 128 or 256 bytes, and neighbouring CTAs soon read what follows; large products gain little by it.
template <typename T>
constexpr CUtensorMapL2promotion l2_promotion() {
    return sizeof(T) == 4 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

// At least 256 bytes, for rungs that read the neighbouring bytes next.
constexpr CUtensorMapL2promotion PROMOTED_256B = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;

// How boxes lie in shared memory: row by row, or under a swizzle of swizzle.cuh.
constexpr CUtensorMapSwizzle UNSWIZZLED = CU_TENSOR_MAP_SWIZZLE_NONE;
constexpr CUtensorMapSwizzle SWIZZLED_128B = CU_TENSOR_MAP_SWIZZLE_128B;

// The swizzle of boxes whose rows are exactly as long as it takes, or none.
constexpr CUtensorMapSwizzle swizzle_of_rows(int bytes) {
    return bytes == 128  ? SWIZZLED_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : UNSWIZZLED;
}

// Fills *map for the row-major matrix [rows][columns] of T and boxes of [box_rows][box_columns],
// 256 each at most; under the 128-byte swizzle a row of the box is 128 bytes at most. Rows of the
// matrix are `pitch` elements apart, 0: `columns`, a multiple of 16 bytes. Returns 0, or 1 after
// printing one line: the driver's code, and every condition that does not hold.
template <typename T = bf16>
int make_tensor_map_2d(TensorMap *map, const void *matrix, int rows, int columns, int box_rows,
                       int box_columns, CUtensorMapSwizzle swizzle = SWIZZLED_128B,
                       CUtensorMapL2promotion promotion = l2_promotion<T>(), size_t pitch = 0) {
    const TensorMapEncoder encode = tensor_map_encoder();
    if (encode == nullptr)
        return 1;
    const cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)}; // contiguous one first
    const cuuint64_t strides[1] = {(pitch > 0 ? pitch : columns) * sizeof(T)}; // bytes
    const cuuint32_t box[2] = {cuuint32_t(box_columns), cuuint32_t(box_rows)};
    const cuuint32_t element_strides[2] = {1, 1};
    const CUresult status = encode(map, tensor_map_type<T>(), 2, const_cast<void *>(matrix), sizes,
                                   strides, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   swizzle, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status == CUDA_SUCCESS)
        return 0;
    const size_t box_row = box_columns * sizeof(T); // bytes
    const bool positive = rows > 0 && columns > 0 && box_rows > 0 && box_columns > 0;
    fprintf(stderr,
            "making a tensor map of %d columns of %zu bytes and %d rows, %llu bytes apart, at %p "
            "with a box of %d columns and %d rows failed with CUDA driver error %d%s%s%s%s%s%s\n",
            columns, sizeof(T), rows, (unsigned long long)strides[0], matrix, box_columns, box_rows,
            int(status), positive ? "" : "; a size is not positive",
            uintptr_t(matrix) % 16 == 0 ? "" : "; the address is not 16-byte aligned",
            strides[0] % 16 == 0 ? "" : "; rows are not multiples of 16 bytes",
            box_rows <= 256 && box_columns <= 256 ? "" : "; the box exceeds 256 on a side",
            box_row % 16 == 0 ? "" : "; rows of the box are not multiples of 16 bytes",
            swizzle != SWIZZLED_128B || box_row <= 128
                ? ""
                : "; rows of the box exceed the swizzle's 128 bytes");
    return 1;
}
