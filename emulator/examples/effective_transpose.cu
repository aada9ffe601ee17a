// The transposes of effective_transpose on a small matrix; the programs' own have 32768 x 32768
// elements. The square matrix is theirs: both maps have one stride.
//
//     emulator/translate/run -I CLONE emulator/examples/effective_transpose.cu -D NAIVE
//
// NAIVE: transpose_naive.cu; SWIZZLE: transpose_swizzle.cu; BATCHED: transpose_swizzle_batched.cu.
#define main their_main
#if defined(NAIVE)
#include "transpose_naive.cu"
#define THEIR_KERNEL kernel<32>
constexpr int BATCH = 1;
constexpr CUtensorMapSwizzle SWIZZLING = CU_TENSOR_MAP_SWIZZLE_NONE;
#elif defined(SWIZZLE)
#include "transpose_swizzle.cu"
#define THEIR_KERNEL kernel<32, 5>
constexpr int BATCH = 1;
constexpr CUtensorMapSwizzle SWIZZLING = CU_TENSOR_MAP_SWIZZLE_128B;
#else
#include "transpose_swizzle_batched.cu"
#define THEIR_KERNEL kernel<32, 5, 8, 3>
constexpr int BATCH = 8;
constexpr CUtensorMapSwizzle SWIZZLING = CU_TENSOR_MAP_SWIZZLE_128B;
#endif
#undef main

#include "check.h"

constexpr int TILE = 32;

int main() {
    const int size = 3 * TILE;
    const auto before = numbers<float>(size * size, 1);
    auto expected = before;
    for (int row = 0; row < size; ++row)
        for (int column = 0; column < size; ++column)
            expected[column * size + row] = before[row * size + column];
    float *from = on_device(before);
    float *to = on_device(std::vector<float>(before.size()));
    const CUtensorMap map_from = matrix_map(from, size, size, TILE, TILE, SWIZZLING);
    const CUtensorMap map_to = matrix_map(to, size, size, TILE, TILE, SWIZZLING);
    THEIR_KERNEL<<<dim3(size / TILE, size / TILE), TILE * TILE / BATCH>>>(map_from, map_to);
    return compare(to, expected, size);
}
