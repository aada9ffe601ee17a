constexpr int DIMENSIONS = 3; // m, n and k
constexpr int USUAL_SHAPE[] = {4201, 6001, 4100};

static int columns_of_d(const problem &p) { return p.n; }

static void print_speed(const problem &p, double seconds) {
    printf("%.1f TFLOPS", 2e-12 * p.m * p.n * p.k / seconds);
}

// Operands hold -2, -1, 1 and 2. Products of these and sums of not too many of them are whole
// numbers, which fp16 holds exactly up to 2048, sums of e4m3 up to 2^14, fp32 far beyond 2^22. If k
// is so large that a sum might become larger, most of A is 0. So nothing is rounded on the way, the
// order of the additions does not matter, and D has to be what the reference is, bit for bit.
constexpr int LARGEST_PRODUCT = 2 * 2;
static const int LARGEST_SUM = RUNG.fp16_sums              ? 2048
                               : RUNG.computes == GEMM_FP8 ? 1 << 14
                                                           : 1 << 22;

// One of the four, by its place in the matrix and the matrix's own seed.
DEVICE float small_integer(size_t place, size_t seed) {
    constexpr size_t MIXER = 0x9e3779b97f4a7c15; // odd: 2^64 over the golden ratio
    size_t bits = (place ^ seed << 48) * MIXER;
    bits = (bits ^ bits >> 32) * MIXER;
    return float(1 + int(bits >> 62 & 1)) * (bits >> 63 ? -1.0f : 1.0f);
}

// One in `spacing` elements of a matrix [][k] is not 0; which one differs from row to row.
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

// Makes A and B.
static void make_factors(problem &p) {
    p.a = make_operand(p.m, p.k, ceil_div(p.k, LARGEST_SUM / LARGEST_PRODUCT), 1);
    p.b = make_operand(p.n, p.k, 1, 2);
}

// The sum over k of A[m][k] * B[n][k].
DEVICE float dot_product(const problem &p, size_t m, size_t n) {
    const ELEMENT *row_a = static_cast<const ELEMENT *>(p.a) + m * p.k;
    const ELEMENT *row_b = static_cast<const ELEMENT *>(p.b) + n * p.k;
    float sum = 0;
    for (int k = 0; k < p.k; ++k)
        sum += FROM_ELEMENT(row_a[k]) * FROM_ELEMENT(row_b[k]);
    return sum;
}
