// The 16-bit formats, value by value: conversions and their rounding.
#include "../../emulator/tests/test.h"
#include "formats/half.h"

#include <initializer_list>

using namespace emulator;

namespace {

void round_trip() {
    for (int bits = 0; bits < 65536; ++bits) {
        const std::uint16_t in = std::uint16_t(bits);
        const bool half_nan = (bits & 0x7fff) > 0x7c00, bf16_nan = (bits & 0x7fff) > 0x7f80;
        const int half = half_of_float(float_of_half(in)), bf16 = bf16_of_float(float_of_bf16(in));
        EXPECT(half == (half_nan ? 0x7fff : bits), "fp16 0x%04x becomes 0x%04x", bits, half);
        EXPECT(bf16 == (bf16_nan ? 0x7fff : bits), "bf16 0x%04x becomes 0x%04x", bits, bf16);
        EXPECT(std::isnan(float_of_half(in)) == half_nan, "fp16 0x%04x", bits);
        EXPECT(std::isnan(float_of_bf16(in)) == bf16_nan, "bf16 0x%04x", bits);
    }
}

// Halfway between neighbours the even one is taken; a little to either side, the nearer one.
void rounding() {
    for (std::uint16_t sign : {std::uint16_t(0), std::uint16_t(0x8000)}) {
        for (int bits = 0; bits < 0x7bff; ++bits) {
            const std::uint16_t low = std::uint16_t(sign | bits), high = std::uint16_t(low + 1);
            const float halfway = (float_of_half(low) + float_of_half(high)) / 2;
            EXPECT(half_of_float(halfway) == (bits % 2 ? high : low), "fp16 above 0x%04x", low);
            EXPECT(half_of_float(std::nextafter(halfway, float_of_half(low))) == low,
                   "fp16 just above 0x%04x", low);
            EXPECT(half_of_float(std::nextafter(halfway, float_of_half(high))) == high,
                   "fp16 just below 0x%04x", high);
        }
        for (int bits = 0; bits < 0x7f7f; ++bits) {
            const std::uint16_t low = std::uint16_t(sign | bits), high = std::uint16_t(low + 1);
            const float halfway = std::bit_cast<float>(std::uint32_t(low) << 16 | 0x8000);
            EXPECT(bf16_of_float(halfway) == (bits % 2 ? high : low), "bf16 above 0x%04x", low);
            EXPECT(bf16_of_float(std::nextafter(halfway, 0.0f)) == low, "bf16 0x%04x", low);
        }
    }
}

} // namespace

int main() {
    run_case("fp16 and bf16: all values there and back", round_trip);
    run_case("fp16 and bf16: rounding to nearest, ties to even", rounding);
    return test_result();
}
