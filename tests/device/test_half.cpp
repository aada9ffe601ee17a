// The emulator's 16-bit formats against the harness', whose rounding tests/unit/test_numbers.c
// checks by its definition.
#include "../../emulator/tests/test.h"
#include "formats/half.h"
#include "formats/number.h"

#include <initializer_list>

using namespace emulator;

static void to_float() {
    for (int bits = 0; bits < 65536; ++bits) {
        const std::uint16_t in = std::uint16_t(bits);
        const float half = float_of_half(in), bf16 = float_of_bf16(in);
        EXPECT(bits_of_float(half) == bits_of_float(fp16_to_float(in)), "fp16 0x%04x", bits);
        EXPECT(bits_of_float(bf16) == bits_of_float(bf16_to_float(in)), "bf16 0x%04x", bits);
    }
}

// Numbers, halves between them and what is next to these, of each sign and exponent; a NaN becomes
// the one that a GPU makes of it.
static void from_float() {
    for (std::uint32_t high = 0; high < 1 << 20; ++high)
        for (std::uint32_t low : {0x000u, 0x001u, 0xfffu}) {
            const float value = float_of_bits(high << 12 | low);
            const int fp16 = value != value ? CANONICAL_NAN : fp16_from_float(value);
            const int bf16 = value != value ? CANONICAL_NAN : bf16_from_float(value);
            EXPECT(half_of_float(value) == fp16, "fp16 of %a is not 0x%04x", value, fp16);
            EXPECT(bf16_of_float(value) == bf16, "bf16 of %a is not 0x%04x", value, bf16);
        }
}

int main() {
    run_case("fp16 and bf16: all values", to_float);
    run_case("fp16 and bf16: rounding to nearest, ties to even", from_float);
    return test_result();
}
