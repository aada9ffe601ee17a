/* The part of CUDA's driver API that makes tensor maps. C. (CUDA Driver API: Tensor Map
 * Object Management.) */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

typedef enum CUresult {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NOT_SUPPORTED = 801
} CUresult;

/* "CUDA_ERROR_INVALID_VALUE", and the same in words. */
CUresult cuGetErrorName(CUresult error, const char **name);
CUresult cuGetErrorString(CUresult error, const char **words);

/* Opaque: what cuTensorMapEncodeTiled wrote. */
typedef struct CUtensorMap {
    cuuint64_t opaque[16] __attribute__((aligned(64)));
} CUtensorMap;

/* clang-format off */
#define EMULATOR_MAP_TYPES(is) /* name, bytes of an element */ \
    is(UINT8, 1) is(UINT16, 2) is(UINT32, 4) is(INT32, 4) is(UINT64, 8) is(INT64, 8) is(FLOAT16, 2) \
    is(FLOAT32, 4) is(FLOAT64, 8) is(BFLOAT16, 2) is(FLOAT32_FTZ, 4) is(TFLOAT32, 4) \
    is(TFLOAT32_FTZ, 4)
#define EMULATOR_MAP_SWIZZLES(is) is(NONE, 0) is(32B, 1) is(64B, 2) is(128B, 3)
#define EMULATOR_MAP_INTERLEAVES(is) is(NONE, 0) is(16B, 1) is(32B, 2)
/* Only changes a load's speed, so it has no effect here. */
#define EMULATOR_MAP_PROMOTIONS(is) is(NONE, 0) is(L2_64B, 1) is(L2_128B, 2) is(L2_256B, 3)
#define EMULATOR_MAP_FILLS(is) is(NONE, 0) is(NAN_REQUEST_ZERO_FMA, 1)
/* clang-format on */
#define EMULATOR_MAP_TYPE(name, bytes) CU_TENSOR_MAP_DATA_TYPE_##name,
#define EMULATOR_MAP_SWIZZLE(name, value) CU_TENSOR_MAP_SWIZZLE_##name = value,
#define EMULATOR_MAP_INTERLEAVE(name, value) CU_TENSOR_MAP_INTERLEAVE_##name = value,
#define EMULATOR_MAP_PROMOTION(name, value) CU_TENSOR_MAP_L2_PROMOTION_##name = value,
#define EMULATOR_MAP_FILL(name, value) CU_TENSOR_MAP_FLOAT_OOB_FILL_##name = value,
typedef enum { EMULATOR_MAP_TYPES(EMULATOR_MAP_TYPE) } CUtensorMapDataType;
typedef enum { EMULATOR_MAP_SWIZZLES(EMULATOR_MAP_SWIZZLE) } CUtensorMapSwizzle;
typedef enum { EMULATOR_MAP_INTERLEAVES(EMULATOR_MAP_INTERLEAVE) } CUtensorMapInterleave;
typedef enum { EMULATOR_MAP_PROMOTIONS(EMULATOR_MAP_PROMOTION) } CUtensorMapL2promotion;
typedef enum { EMULATOR_MAP_FILLS(EMULATOR_MAP_FILL) } CUtensorMapFloatOOBfill;

/* Of a tensor of rank 1 to 5: sizes, boxes and element strides by dimension, the contiguous one
 * first; strides in bytes, from the second dimension on. CUDA_ERROR_INVALID_VALUE for what the
 * hardware does not support; CUDA_ERROR_NOT_SUPPORTED, after a line that says so, for what the
 * emulator does not: interleaved layouts, element strides, and NaNs outside of the tensor. */
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *sizes, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

#ifdef __cplusplus
}
#endif
