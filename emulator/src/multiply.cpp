#include "multiply.h"

#include "formats/half.h"

#include <algorithm>
#include <iterator>

namespace emulator {

float float_of_e4m3(std::uint8_t e4m3) { return e4m3_to_float(e4m3); }
std::uint8_t e4m3_of_float(float value) { return e4m3_from_float(value); }

namespace {

// The rows of D that a warp holds, row after row. They and B fit into a first-level cache.
constexpr int WARPS = 4;
constexpr int WARP_THREADS = 32;
constexpr int WARP_ROWS = WGMMA_M / WARPS;
using WarpRows = float[WARP_ROWS * WGMMA_LARGEST_N];

// Where a lane's accumulators begin in them.
int first_element(int lane) { return lane / 4 * WGMMA_LARGEST_N + lane % 4 * 2; }

constexpr int EIGHT_ROWS = 8 * WGMMA_LARGEST_N;

// Calls move(element of d, accumulator of it) for all that the warp's lanes hold.
template <typename Move>
void for_each_accumulator(WarpRows &d, float *const *acc, int n, const Move &move) {
    for (int lane = 0; lane < WARP_THREADS; ++lane) {
        auto *element = d + first_element(lane);
        for (int i = 0; i < n / 2; i += 4, element += BLOCK_COLUMNS) {
            move(element[0], acc[lane][i]);
            move(element[1], acc[lane][i + 1]);
            move(element[EIGHT_ROWS], acc[lane][i + 2]);
            move(element[EIGHT_ROWS + 1], acc[lane][i + 3]);
        }
    }
}

} // namespace

void multiply_fragments(float *const *acc, int n, bool accumulate, const float *a, const float *b) {
    static WarpRows d; // too large for a fiber's stack
    for (int warp = 0; warp < WARPS; ++warp) {
        float *const *own = acc + warp * WARP_THREADS;
        if (accumulate)
            for_each_accumulator(d, own, n, [](float &to, float &from) { to = from; });
        else
            std::fill(std::begin(d), std::end(d), 0.0f);
        const float *rows = a + warp * WARP_ROWS * MMA_K;
        for (int column = 0; column < n; column += BLOCK_COLUMNS)
            for (int row = 0; row < WARP_ROWS; row += BLOCK_ROWS)
                multiply_block<WGMMA_LARGEST_N>(d + row * WGMMA_LARGEST_N + column,
                                                rows + row * MMA_K, b + column);
        for_each_accumulator(d, own, n, [](float &from, float &to) { to = from; });
    }
}

void multiply_fragments(float *const *acc, int n, bool accumulate, const e4m3_group *a,
                        const e4m3_group *b) {
    for (int thread = 0; thread < WARPS * WARP_THREADS; ++thread) {
        const int lane = thread % WARP_THREADS;
        const int first_row = thread / WARP_THREADS * WARP_ROWS + lane / 4;
        for (int i = 0; i < n / 2; ++i) {
            float &element = acc[thread][i];
            element = e4m3_multiply_add(&a[first_row + i / 2 % 2 * 8],
                                        &b[i / 4 * 8 + lane % 4 * 2 + i % 2],
                                        accumulate ? element : 0.0f);
        }
    }
}

} // namespace emulator
