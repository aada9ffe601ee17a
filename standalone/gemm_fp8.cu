using Result = bf16;

static double value_of(Result element) { return __bfloat162float(element); }

// Powers of two, so that nothing is rounded: of the blocks, or all the same.
__global__ void fill_scales(float *scales, size_t count, bool of_blocks, size_t seed) {
    const size_t i = my_element();
    if (i < count)
        scales[i] = of_blocks ? fabsf(small_integer(i, seed)) * 0.5f : 2.0f;
}

static const float *make_scales(size_t count, size_t seed) {
    float *scales = allocate<float>(count);
    for_each(count, fill_scales, scales, count, RUNG.block_scales, seed);
    return scales;
}

// The places of step.h. Where a matrix has one scale, all are equal.
__host__ __device__ constexpr int scale_columns(int k) { return ceil_div(k, 4 * SCALE_BLOCK) * 4; }

static void make_operands(problem &p) {
    make_factors(p);
    p.scale_a = make_scales(size_t(ceil_div(p.k, SCALE_BLOCK)) * p.m, 3);
    p.scale_b = make_scales(size_t(ceil_div(p.n, SCALE_BLOCK)) * scale_columns(p.k), 4);
}

// D[m][n] = sum over k of A[m][k] * B[n][k] * their scales, as plainly as it can be said.
DEVICE float scaled_product(const problem &p, size_t m, size_t n) {
    const ELEMENT *row_a = static_cast<const ELEMENT *>(p.a) + m * p.k;
    const ELEMENT *row_b = static_cast<const ELEMENT *>(p.b) + n * p.k;
    const float *scales_b = p.scale_b + n / SCALE_BLOCK * scale_columns(p.k);
    float sum = 0;
    for (int k = 0; k < p.k; ++k)
        sum += FROM_ELEMENT(row_a[k]) * FROM_ELEMENT(row_b[k]) *
               p.scale_a[size_t(k / SCALE_BLOCK) * p.m + m] * scales_b[k / SCALE_BLOCK];
    return sum;
}

__global__ void reference(problem p, Result *d, size_t count) {
    const size_t i = my_element();
    if (i < count)
        d[i] = __float2bfloat16(scaled_product(p, i / p.n, i % p.n));
}
