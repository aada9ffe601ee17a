using Result = float;

static double value_of(Result element) { return element; }

__global__ void fill_c(float *c, size_t count, size_t seed) {
    const size_t i = my_element();
    if (i < count)
        c[i] = small_integer(i, seed);
}

static void make_operands(problem &p) {
    make_factors(p);
    const size_t count = size_t(p.m) * p.n;
    float *c = allocate<float>(count);
    for_each(count, fill_c, c, count, 3);
    p.c = c;
    p.alpha = 2;
    p.beta = 3; // of beta / alpha, too, every multiple is exact
}

// D = alpha * A * B^T + beta * C, as plainly as it can be said.
__global__ void reference(problem p, Result *d, size_t count) {
    const size_t i = my_element();
    const float *c = static_cast<const float *>(p.c);
    if (i < count)
        d[i] = p.alpha * dot_product(p, i / p.n, i % p.n) + p.beta * c[i];
}
