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
inline TensorMapEncoder tensor_map_encoder() {
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

// What a tensor map calls the type of its elements.
template <typename T>
constexpr CUtensorMapDataType tensor_map_type();
template <>
constexpr CUtensorMapDataType tensor_map_type<bf16>() {
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}
template <>
constexpr CUtensorMapDataType tensor_map_type<float>() {
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}
template <>
constexpr CUtensorMapDataType tensor_map_type<int32_t>() {
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
}

// How many bytes the L2 fetches at least where a row of a box has fewer. Transposes ask for rows of
// 128 or 256 bytes and their neighbours soon want what follows; large products gain nothing by it.
template <typename T>
constexpr CUtensorMapL2promotion l2_promotion() {
    return sizeof(T) == 4 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

// At least 256 bytes, for whoever knows that the neighbours are wanted next.
constexpr CUtensorMapL2promotion PROMOTED_256B = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;

// How boxes lie in shared memory: row by row, or under the 128-byte swizzle of swizzle.cuh.
constexpr CUtensorMapSwizzle UNSWIZZLED = CU_TENSOR_MAP_SWIZZLE_NONE;
constexpr CUtensorMapSwizzle SWIZZLED_128B = CU_TENSOR_MAP_SWIZZLE_128B;

// Fills *map for a tensor of T of `rank` dimensions, the contiguous one first. sizes and box are in
// elements; strides[i] is the distance, in bytes, between neighbours in dimension i + 1. Returns 0,
// or 1 after printing one line.
template <typename T>
int encode_tensor_map(TensorMap *map, const void *base, int rank, const cuuint64_t *sizes,
                      const cuuint64_t *strides, const cuuint32_t *box, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion = l2_promotion<T>()) {
    const TensorMapEncoder encode = tensor_map_encoder();
    if (encode == nullptr)
        return 1;
    const cuuint32_t element_strides[3] = {1, 1, 1};
    const CUresult status =
        encode(map, tensor_map_type<T>(), cuuint32_t(rank), const_cast<void *>(base), sizes,
               strides, box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, promotion,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status == CUDA_SUCCESS)
        return 0;
    fprintf(stderr,
            "making a tensor map of %llu columns and %llu rows with a box of %u columns and %u "
            "rows failed with CUDA driver error %d: rows must be 16-byte aligned\n",
            (unsigned long long)sizes[0], (unsigned long long)sizes[1], box[0], box[1],
            int(status));
    return 1;
}

// Map of the row-major matrix [rows][columns] of T for boxes of [box_rows][box_columns], 256 each
// at most; under the 128-byte swizzle a row of the box is 128 bytes at most. Rows of the matrix are
// multiples of 16 bytes. Returns 0, or 1 after printing one line.
template <typename T = bf16>
int make_tensor_map_2d(TensorMap *map, const void *matrix, int rows, int columns, int box_rows,
                       int box_columns, CUtensorMapSwizzle swizzle = SWIZZLED_128B) {
    const cuuint64_t sizes[2] = {cuuint64_t(columns), cuuint64_t(rows)};
    const cuuint64_t strides[1] = {cuuint64_t(columns) * sizeof(T)};
    const cuuint32_t box[2] = {cuuint32_t(box_columns), cuuint32_t(box_rows)};
    return encode_tensor_map<T>(map, matrix, 2, sizes, strides, box, swizzle);
}

// Map of the row-major bf16 matrix [rows][columns] for whole operand stages of [box_rows][bk], bk a
// multiple of 64. The third dimension steps over the stage's slices of 64 columns, 128 bytes apart
// in a row, because the swizzle cannot span more; the box holds all slices, one after the other.
// With one slice (bk = 64) columns past the edge are zero-filled; with more, `columns` must be a
// multiple of bk, since TMA clips each dimension by itself. Returns 0, or 1 after
// printing one line.
inline int make_tensor_map_3d(TensorMap *map, const void *matrix, int rows, int columns,
                              int box_rows, int bk,
                              CUtensorMapL2promotion promotion = l2_promotion<bf16>()) {
    const int slices = bk / SWIZZLE_COLUMNS;
    const cuuint64_t sizes[3] = {cuuint64_t(columns), cuuint64_t(rows), cuuint64_t(slices)};
    const cuuint64_t strides[2] = {cuuint64_t(columns) * sizeof(bf16), SWIZZLE_BYTES};
    const cuuint32_t box[3] = {SWIZZLE_COLUMNS, cuuint32_t(box_rows), cuuint32_t(slices)};
    return encode_tensor_map<bf16>(map, matrix, 3, sizes, strides, box, SWIZZLED_128B, promotion);
}
