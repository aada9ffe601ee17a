// fp16, and arithmetic in it: each operation rounds once, to nearest even. (CUDA Math API: Half
// Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "formats/half.h"

struct __half : emulator::Narrow<emulator::half_of_float, emulator::float_of_half> {
    using Narrow::Narrow;
};
struct __half2 : emulator::NarrowPair<__half> {
    using NarrowPair::NarrowPair;
};
using half = __half;
using half2 = __half2;
// + - * / and their assignments; __hadd, __hfma2, __hmax and the like.
EMULATOR_NARROW_FUNCTIONS(__half, __half2)

// To fp16, rounded, and back, exact.
inline __half __float2half(float value) { return value; }
inline __half __float2half_rn(float value) { return value; }
inline float __half2float(__half value) { return value; }

// The bits of one, and the number of these bits.
inline __half __ushort_as_half(unsigned short bits) { return std::bit_cast<__half>(bits); }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }

// Pairs.
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float2half2_rn(float value) { return {value, value}; }
inline __half2 __float22half2_rn(float2 value) { return {value.x, value.y}; }
inline float2 __half22float2(__half2 value) { return {value.x, value.y}; }
