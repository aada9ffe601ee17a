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

// Rungs take that for an error: the line on stderr is not all.
static void refused() {
    TensorMap map;
    const DeviceArray<float> matrix(std::vector<float>(64));
    EXPECT(make_tensor_map_2d<float>(&map, matrix.device, 8, 8, 8, 512, UNSWIZZLED) != 0, "512");
}

static const Case CASES[] = {
    {"TMA: words of fp32, in and out, clipped at the edges", words<float>},
    {"TMA: words of int32, in and out, clipped at the edges", words<int32_t>},
    {"TMA: a tensor map with a box that is too wide is an error", refused},
};

int main() {
    run_cases(CASES);
    return test_result();
}
