// bf16: the upper half of an fp32. (CUDA Math API: Bfloat16 Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "formats/half.h"

// Arithmetic is that of fp32, rounded to bf16 after each operation.
struct __nv_bfloat16 {
    unsigned short bits;

    __nv_bfloat16() = default;
    template <typename T>
    requires std::is_arithmetic_v<T> __nv_bfloat16(T value)
        : bits(emulator::bf16_of_float(float(value))) {}
    operator float() const { return emulator::float_of_bf16(bits); }
};
// Its + - * / and their assignments.
EMULATOR_NARROW_ARITHMETIC(__nv_bfloat16)

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    __nv_bfloat162(__nv_bfloat16 first, __nv_bfloat16 second) : x(first), y(second) {}
};

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

// To bf16, rounded to nearest even, and back, exact.
inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __float2bfloat16(value); }
inline float __bfloat162float(__nv_bfloat16 value) { return float(value); }

// Both at once; the first at the lower address.
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16(x), __float2bfloat16(y)};
}

// Pairs: the first at the lower address.
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {float(value.x), float(value.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
inline __nv_bfloat162 __float2bfloat162_rn(float value) {
    return __floats2bfloat162_rn(value, value);
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) {
    return __floats2bfloat162_rn(value.x, value.y);
}
inline float __low2float(__nv_bfloat162 value) { return float(value.x); }
inline float __high2float(__nv_bfloat162 value) { return float(value.y); }

// __hadd, __hfma2, __hmax and the like.
EMULATOR_NARROW_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
