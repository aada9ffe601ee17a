// bf16, the upper half of an fp32, whose arithmetic is that of fp32, rounded after each operation.
// (CUDA Math API: Bfloat16 Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "formats/half.h"

struct __nv_bfloat16 : emulator::Narrow<emulator::bf16_of_float, emulator::float_of_bf16> {
    using Narrow::Narrow;
};
struct __nv_bfloat162 : emulator::NarrowPair<__nv_bfloat16> {
    using NarrowPair::NarrowPair;
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
// + - * / and their assignments; __hadd, __hfma2, __hmax and the like.
EMULATOR_NARROW_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)

// To bf16, rounded to nearest even, and back, exact.
inline __nv_bfloat16 __float2bfloat16(float value) { return value; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
inline float __bfloat162float(__nv_bfloat16 value) { return value; }

// Pairs.
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float value) { return {value, value}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) { return {value.x, value.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {value.x, value.y}; }
