// The formats fp16, bf16 and e4m3, as bits, and fp32: conversions as the hardware rounds, to
// nearest, ties to even. (PTX ISA: cvt.rn.)
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace emulator {

constexpr std::uint16_t CANONICAL_NAN = 0x7fff; // what cvt makes of any NaN, for both formats

// bits / 2^shift, to nearest, ties to even; shift 1 to 31.
constexpr std::uint32_t shift_rounded(std::uint32_t bits, int shift) {
    const std::uint32_t half_less_one = (1u << (shift - 1)) - 1;
    const std::uint32_t odd = bits >> shift & 1;
    return (bits + half_less_one + odd) >> shift;
}

// Exact. Here and below nothing branches: the compiler converts several numbers at once.
constexpr float float_of_half(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t(half & 0x8000) << 16;
    const std::int32_t magnitude = half & 0x7fff;
    // The difference of the exponents' biases, by a factor: right for zero and small numbers too.
    const float widened = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::int32_t infinite_or_nan = 0x7f800000 | magnitude << 13;
    return std::bit_cast<float>(
        sign | (magnitude >= 0x7c00 ? infinite_or_nan : std::bit_cast<std::int32_t>(widened)));
}

// Rounds; magnitudes from 65520 on become infinite, NaNs the canonical one.
constexpr std::uint16_t half_of_float(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const std::int32_t magnitude = bits & 0x7fffffff;
    const std::int32_t infinity = 0x7f800000, overflow = 0x477ff000, smallest_normal = 0x38800000;
    // A carry out of the mantissa raises the exponent: right.
    const std::int32_t normal = shift_rounded(magnitude - ((127 - 15) << 23), 13);
    // fp32 numbers from 0.5 to 1 are multiples of 2^-24, as are fp16 numbers below the smallest
    // normal one.
    const std::int32_t small = std::bit_cast<std::int32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                               std::bit_cast<std::int32_t>(0.5f);
    const std::int32_t finite = magnitude < smallest_normal ? small : normal;
    const std::uint32_t rounded = sign | (magnitude >= overflow ? 0x7c00 : finite);
    return std::uint16_t(magnitude > infinity ? CANONICAL_NAN : rounded);
}

// Exact: bf16 is the upper half of an fp32.
constexpr float float_of_bf16(std::uint16_t bf16) {
    return std::bit_cast<float>(std::uint32_t(bf16) << 16);
}

// Rounds; NaNs become the canonical one.
constexpr std::uint16_t bf16_of_float(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t infinity = 0x7f800000;
    if ((bits & 0x7fffffff) > infinity)
        return CANONICAL_NAN;
    return std::uint16_t(shift_rounded(bits, 16));
}

// An fp32 number that rounds to fp16 or bf16 as `value` does: where it is inexact its last bit
// is 1.
inline float narrow_for_rounding(double value) {
    float narrow = float(value);
    if (double(narrow) == value || narrow != narrow)
        return narrow;
    if (std::fabs(double(narrow)) > std::fabs(value))
        narrow = std::nextafter(narrow, 0.0f);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(narrow) | 1);
}

// The conversions of e4m3.h, for programs that may use the same names as that file.
float float_of_e4m3(std::uint8_t e4m3);
std::uint8_t e4m3_of_float(float value);

// A 16-bit type, and two of it, the first at the lower address.
template <std::uint16_t OF_FLOAT(float), float TO_FLOAT(std::uint16_t)>
struct Narrow {
    unsigned short bits;

    Narrow() = default;
    template <typename T>
    requires std::is_arithmetic_v<T> Narrow(T value) : bits(OF_FLOAT(float(value))) {}
    operator float() const { return TO_FLOAT(bits); }
};
template <typename T>
struct alignas(4) NarrowPair {
    T x, y;

    NarrowPair() = default;
    constexpr NarrowPair(T first, T second) : x(first), y(second) {}
};

} // namespace emulator

// Arithmetic of such a type: each operation rounds.
#define EMULATOR_NARROW_OPERATION(T, op)                                                           \
    inline T operator op(T a, T b) { return T(float(a) op float(b)); }                             \
    inline T &operator op##=(T &a, T b) { return a = a op b; }
// Conversions, by the names of the type and of its pairs, half and half2: to it, rounded, and back,
// exact; its bits; pairs.
#define EMULATOR_NARROW_CONVERSIONS(T, T2, name, name2)                                            \
    inline T __float2##name(float value) { return value; }                                         \
    inline T __float2##name##_rn(float value) { return value; }                                    \
    inline float __##name##2float(T value) { return value; }                                       \
    inline T __ushort_as_##name(unsigned short bits) { return std::bit_cast<T>(bits); }            \
    inline unsigned short __##name##_as_ushort(T value) { return value.bits; }                     \
    inline T2 __halves2##name2(T x, T y) { return {x, y}; }                                        \
    inline T2 __##name##2##name2(T value) { return {value, value}; }                               \
    inline T2 __floats2##name2##_rn(float x, float y) { return {x, y}; }                           \
    inline T2 __float2##name2##_rn(float value) { return {value, value}; }                         \
    inline T2 __float22##name2##_rn(float2 value) { return {value.x, value.y}; }                   \
    inline float2 __##name2##2float2(T2 value) { return {value.x, value.y}; }
// The functions of a 16-bit type and its pairs. Sums and products round to fp32 first, which has
// enough bits that this changes nothing; __hfma rounds once: wherever that matters, its fp64 sum is
// exact.
#define EMULATOR_PAIRWISE(T2, name, one)                                                           \
    inline T2 name(T2 a, T2 b) { return {one(a.x, b.x), one(a.y, b.y)}; }
#define EMULATOR_NARROW_FUNCTIONS(T, T2)                                                           \
    EMULATOR_NARROW_OPERATION(T, +)                                                                \
    EMULATOR_NARROW_OPERATION(T, -)                                                                \
    EMULATOR_NARROW_OPERATION(T, *)                                                                \
    EMULATOR_NARROW_OPERATION(T, /)                                                                \
    inline T operator-(T a) { return T(-float(a)); }                                               \
    inline T __hadd(T a, T b) { return a + b; }                                                    \
    inline T __hsub(T a, T b) { return a - b; }                                                    \
    inline T __hmul(T a, T b) { return a * b; }                                                    \
    inline T __hdiv(T a, T b) { return a / b; }                                                    \
    inline T __hneg(T a) { return -a; }                                                            \
    inline T __habs(T a) { return T(std::fabs(float(a))); }                                        \
    inline T __hmin(T a, T b) { return T(std::fmin(float(a), float(b))); }                         \
    inline T __hmax(T a, T b) { return T(std::fmax(float(a), float(b))); }                         \
    inline bool __hgt(T a, T b) { return float(a) > float(b); }                                    \
    inline bool __hlt(T a, T b) { return float(a) < float(b); }                                    \
    inline bool __heq(T a, T b) { return float(a) == float(b); }                                   \
    inline T hexp(T a) { return T(std::exp(float(a))); }                                           \
    inline T hexp2(T a) { return T(std::exp2(float(a))); }                                         \
    inline T hsqrt(T a) { return T(std::sqrt(float(a))); }                                         \
    inline T __hfma(T a, T b, T c) {                                                               \
        return T(emulator::narrow_for_rounding(double(float(a)) * float(b) + float(c)));           \
    }                                                                                              \
    EMULATOR_PAIRWISE(T2, __hadd2, __hadd)                                                         \
    EMULATOR_PAIRWISE(T2, __hsub2, __hsub)                                                         \
    EMULATOR_PAIRWISE(T2, __hmul2, __hmul)                                                         \
    EMULATOR_PAIRWISE(T2, __hmin2, __hmin)                                                         \
    EMULATOR_PAIRWISE(T2, __hmax2, __hmax)                                                         \
    EMULATOR_PAIRWISE(T2, operator+, __hadd)                                                       \
    EMULATOR_PAIRWISE(T2, operator-, __hsub)                                                       \
    EMULATOR_PAIRWISE(T2, operator*, __hmul)                                                       \
    inline T2 &operator+=(T2 &a, T2 b) { return a = a + b; }                                       \
    inline T2 &operator*=(T2 &a, T2 b) { return a = a * b; }                                       \
    inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
    inline float __low2float(T2 a) { return float(a.x); }                                          \
    inline float __high2float(T2 a) { return float(a.y); }
