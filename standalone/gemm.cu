using Result = ELEMENT;

static double value_of(Result element) { return FROM_ELEMENT(element); }

static void make_operands(problem &p) { make_factors(p); }

// D[m][n] = sum over k of A[m][k] * B[n][k], as plainly as it can be said.
__global__ void reference(problem p, Result *d, size_t count) {
    const size_t i = my_element();
    if (i < count)
        d[i] = TO_ELEMENT(dot_product(p, i / p.n, i % p.n));
}
