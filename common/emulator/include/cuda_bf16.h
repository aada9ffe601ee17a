// bf16: the upper half of an fp32. (CUDA Math API: Bfloat16 Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "emulator/half.h"

struct __nv_bfloat16 {
    unsigned short bits;
};

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

// To bf16, rounded to nearest even, and back, exact.
inline __nv_bfloat16 __float2bfloat16(float value) { return {emulator::bf16_of_float(value)}; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __float2bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return emulator::float_of_bf16(value.bits); }

// Both at once; the first at the lower address.
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16(x), __float2bfloat16(y)};
}
