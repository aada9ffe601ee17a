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
};

using half = __half;
using half2 = __half2;

// To fp16, rounded, and back, exact.
inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __float2half(value); }
inline float __half2float(__half value) { return float(value); }

// Pairs: the first at the lower address.
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
inline __half2 __float2half2_rn(float value) { return __floats2half2_rn(value, value); }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline float2 __half22float2(__half2 value) {
    return {__half2float(value.x), __half2float(value.y)};
}
inline float __low2float(__half2 value) { return __half2float(value.x); }
inline float __high2float(__half2 value) { return __half2float(value.y); }

// Sums and products round to fp32 first: it has enough bits, 24, that this changes nothing.
inline __half __hadd(__half a, __half b) { return __float2half(__half2float(a) + __half2float(b)); }
inline __half __hsub(__half a, __half b) { return __float2half(__half2float(a) - __half2float(b)); }
inline __half __hmul(__half a, __half b) { return __float2half(__half2float(a) * __half2float(b)); }

namespace emulator {

// An fp32 number that rounds to fp16 as `value` does: where it is inexact its last bit is 1.
inline float narrow_for_rounding(double value) {
    float narrow = float(value);
    if (double(narrow) == value || narrow != narrow)
        return narrow;
    if (std::fabs(double(narrow)) > std::fabs(value))
        narrow = std::nextafter(narrow, 0.0f);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(narrow) | 1);
}

} // namespace emulator

// a * b + c with one rounding: wherever that matters, the fp64 sum is exact.
inline __half __hfma(__half a, __half b, __half c) {
    const double product = double(__half2float(a)) * double(__half2float(b));
    return __float2half(emulator::narrow_for_rounding(product + double(__half2float(c))));
}

// The same for both of a pair.
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
inline __half2 __hsub2(__half2 a, __half2 b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
