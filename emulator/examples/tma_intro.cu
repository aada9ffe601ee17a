// The add-one of tma_intro (intro.cu, or intro_swizzle.cu with -DSWIZZLED) on a small matrix: the
// program's own has 8192 x 8192 elements.
//
//     emulator/translate/run -I CLONE emulator/examples/tma_intro.cu
#define main their_main
#ifdef SWIZZLED
#include "intro_swizzle.cu"
constexpr int TILE = 8;
constexpr CUtensorMapSwizzle SWIZZLE = CU_TENSOR_MAP_SWIZZLE_32B;
#else
#include "intro.cu"
constexpr int TILE = 32;
constexpr CUtensorMapSwizzle SWIZZLE = CU_TENSOR_MAP_SWIZZLE_NONE;
#endif
#undef main

#include "check.h"

int main() {
    const int rows = 3 * TILE, columns = 4 * TILE;
    const auto before = numbers<int>(rows * columns, 1);
    auto expected = before;
    for (int &value : expected)
        ++value;
    int *matrix = on_device(before);
    const CUtensorMap map = matrix_map(matrix, rows, columns, TILE, TILE, SWIZZLE);
    kernel<TILE><<<dim3(columns / TILE, rows / TILE), TILE * TILE>>>(map);
    return compare(matrix, expected, columns);
}
