// The formats fp16, bf16, e4m3 and e5m2, as bits, and fp32: conversions as the hardware rounds, to
// nearest, ties to even. (PTX ISA: cvt.rn.)
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace emulator {
// The conversions of number.h and e4m3.h, for programs that may use the same names as those files.
float float_of_half(std::uint16_t half);
std::uint16_t half_of_float(float value);
float float_of_bf16(std::uint16_t bf16);
std::uint16_t bf16_of_float(float value);
float float_of_e4m3(std::uint8_t e4m3);
std::uint8_t e4m3_of_float(float value);
// e5m2 is the upper half of an fp16; magnitudes above 57344 become that.
inline float float_of_e5m2(std::uint8_t e5m2) { return float_of_half(std::uint16_t(e5m2 << 8)); }
inline std::uint8_t e5m2_of_float(float value) {
    const float most = std::fmax(std::fmin(value, 57344.0f), -57344.0f);
    const float last = std::ldexp(1.0f, std::ilogb(std::fmax(std::fabs(most), 0x1p-14f)) - 2);
    return value != value ? 0x7f : half_of_float(std::nearbyint(most / last) * last) >> 8;
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

// A 16-bit type, and two of it, the first at the lower address.
template <std::uint16_t OF_FLOAT(float), float TO_FLOAT(std::uint16_t)>
struct Narrow {
    unsigned short bits;

    Narrow() = default;
    template <typename T>
    requires std::is_arithmetic_v<T> Narrow(T value) : bits(OF_FLOAT(float(value))) {}
    operator float() const { return TO_FLOAT(bits); }
};
using Half = Narrow<half_of_float, float_of_half>;
using Bfloat = Narrow<bf16_of_float, float_of_bf16>;
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
    inline T __int2##name##_rn(int value) { return value; }                                        \
    inline int __##name##2int_rn(T value) { return int(std::nearbyint(float(value))); }            \
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
