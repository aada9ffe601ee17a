// fp16, and arithmetic in it: each operation rounds once, to nearest even. (CUDA Math API: Half
// Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "formats/half.h"

struct __half {
    unsigned short bits;

    __half() = default;
    template <typename T>
    requires std::is_arithmetic_v<T> __half(T value)
        : bits(emulator::half_of_float(float(value))) {}
    operator float() const { return emulator::float_of_half(bits); }
};
// Its + - * / and their assignments.
EMULATOR_NARROW_ARITHMETIC(__half)

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    __half2(__half first, __half second) : x(first), y(second) {}
};

using half = __half;
using half2 = __half2;

// To fp16, rounded, and back, exact.
inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __float2half(value); }
inline float __half2float(__half value) { return float(value); }

// The bits of one, and the number of these bits.
inline __half __ushort_as_half(unsigned short bits) { return std::bit_cast<__half>(bits); }
inline unsigned short __half_as_ushort(__half value) {
    return std::bit_cast<unsigned short>(value);
}

// Pairs: the first at the lower address.
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
inline __half2 __float2half2_rn(float value) { return __floats2half2_rn(value, value); }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline float2 __half22float2(__half2 value) {
    return {__half2float(value.x), __half2float(value.y)};
}
inline __half2 __float22half2_rn(float2 value) { return __floats2half2_rn(value.x, value.y); }
inline float __low2float(__half2 value) { return __half2float(value.x); }
inline float __high2float(__half2 value) { return __half2float(value.y); }

// __hadd, __hfma2, __hmax and the like.
EMULATOR_NARROW_FUNCTIONS(__half, __half2)
