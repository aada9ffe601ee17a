// TMA copies of 4-byte words, fp32 and int32, swizzled and not, against their definition: on a GPU
// or on the emulator. Without a GPU of compute capability 9.0 every case is skipped.
#include "copies.cuh"

template <typename T>
static void words() {
    loads<T, LOAD_2D, UNSWIZZLED>();
    loads<T, LOAD_2D>();
    stores<T, false, UNSWIZZLED>();
    stores<T, false>();
}

static const Case CASES[] = {
    {"TMA: words of fp32, in and out, clipped at the edges", words<float>},
    {"TMA: words of int32, in and out, clipped at the edges", words<int32_t>},
};

int main() {
    run_cases(CASES);
    return test_result();
}
