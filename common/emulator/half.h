// The 16-bit formats, fp16 and bf16, as bits, and fp32: conversions as the hardware rounds, to
// nearest, ties to even. (PTX ISA: cvt.rn.)
#pragma once

#include <bit>
#include <cstdint>

namespace emulator {

constexpr std::uint16_t CANONICAL_NAN = 0x7fff; // what cvt makes of any NaN, for both formats

// bits / 2^shift, to nearest, ties to even; shift 1 to 31.
constexpr std::uint32_t shift_rounded(std::uint32_t bits, int shift) {
    const std::uint32_t half_less_one = (1u << (shift - 1)) - 1;
    const std::uint32_t odd = bits >> shift & 1;
    return (bits + half_less_one + odd) >> shift;
}

// Exact.
constexpr float float_of_half(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t(half & 0x8000) << 16;
    const std::uint32_t magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) // infinite, or NaN
        return std::bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
    // The difference of the exponents' biases, by a factor: right for zero and small numbers too.
    const float widened = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(widened));
}

// Rounds; magnitudes from 65520 on become infinite, NaNs the canonical one.
constexpr std::uint16_t half_of_float(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const std::uint32_t magnitude = bits & 0x7fffffff;
    const std::uint32_t infinity = 0x7f800000, overflow = 0x477ff000, smallest_normal = 0x38800000;
    if (magnitude > infinity)
        return CANONICAL_NAN;
    if (magnitude >= overflow)
        return std::uint16_t(sign | 0x7c00);
    if (magnitude >= smallest_normal) // a carry out of the mantissa raises the exponent: right
        return std::uint16_t(sign | shift_rounded(magnitude - ((127 - 15) << 23), 13));
    const int shift = 126 - int(magnitude >> 23); // down to multiples of 2^-24
    if (shift > 25)
        return std::uint16_t(sign);
    return std::uint16_t(sign | shift_rounded((magnitude & 0x7fffff) | 0x800000, shift));
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

} // namespace emulator
