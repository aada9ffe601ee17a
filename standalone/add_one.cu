static int columns_of_d(const problem &p) { return p.n; }

// D[m][n] = A[m][n] + 1, as plainly as it can be said.
__global__ void reference(problem p, Result *d, size_t count) {
    const size_t i = my_element();
    if (i < count)
        d[i] = static_cast<const uint32_t *>(p.a)[i] + 1;
}
