using Result = uint32_t; // an element's bits, whatever its type

constexpr int DIMENSIONS = 2; // m and n
constexpr int USUAL_SHAPE[] = {4001, 12001};

static double value_of(Result word) { return word; }

static void print_speed(const problem &p, double seconds) {
    printf("%.1f GB/s read and written", 2e-9 * p.m * p.n * sizeof(Result) / seconds);
}

// No two words are the same, as long as there are 2^32 at most.
__global__ void fill(uint32_t *matrix, size_t count) {
    constexpr uint32_t MIXER = 0x9e3779b9; // odd: 2^32 over the golden ratio
    const size_t i = my_element();
    if (i < count)
        matrix[i] = uint32_t(i) * MIXER;
}

static void make_operands(problem &p) {
    const size_t count = size_t(p.m) * p.n;
    uint32_t *a = allocate<uint32_t>(count);
    for_each(count, fill, a, count);
    p.a = a;
}
