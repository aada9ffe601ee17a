// Operands hold -2, -1, 1 and 2. Products of these and sums of not too many of them are whole
// numbers, which fp16 holds exactly up to 2048 and fp32 far beyond 2^22. If k is so large that a
// sum might become larger, most of A is 0. So nothing is rounded on the way, the order of the
// additions does not matter, and D has to be what the reference is, bit for bit.
constexpr int LARGEST_PRODUCT = 2 * 2;
static const int LARGEST_SUM = RUNG.fp16_sums ? 2048 : 1 << 22;

// One of the four, by its place in the matrix and the matrix's own seed.
DEVICE float small_integer(size_t place, size_t seed) {
    constexpr size_t MIXER = 0x9e3779b97f4a7c15; // odd: 2^64 over the golden ratio
    size_t bits = (place ^ seed << 48) * MIXER;
    bits = (bits ^ bits >> 32) * MIXER;
    return float(1 + int(bits >> 62 & 1)) * (bits >> 63 ? -1.0f : 1.0f);
}

// One of `spacing` elements is not 0; where it stands differs from row to row.
__global__ void fill(ELEMENT *matrix, size_t count, int k, int spacing, size_t seed) {
    const size_t i = my_element();
    if (i < count)
        matrix[i] = TO_ELEMENT((i / k + i % k) % spacing == 0 ? small_integer(i, seed) : 0.0f);
}

// A new matrix [rows][k].
static const ELEMENT *make_operand(int rows, int k, int spacing, size_t seed) {
    const size_t count = size_t(rows) * k;
    ELEMENT *matrix = allocate<ELEMENT>(count);
    for_each(count, fill, matrix, count, k, spacing, seed);
    return matrix;
}
