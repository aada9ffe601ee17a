// Operands hold -2, -1, 0, 1 and 2 alone: these are their bits. (PTX ISA: Alternate Floating-Point
// Data Formats.)
DEVICE e4m3 e4m3_of_integer(float value) {
    const int magnitude = value == 0 ? 0 : fabsf(value) == 1 ? 0x38 : 0x40;
    return {uint8_t(magnitude | (value < 0 ? 0x80 : 0))};
}

DEVICE float integer_of_e4m3(e4m3 element) {
    const int magnitude = element.bits & 0x7f;
    const float value = magnitude == 0 ? 0.0f : magnitude == 0x38 ? 1.0f : 2.0f;
    return element.bits & 0x80 ? -value : value;
}
