#include "emulator/multiply.h"

#include "emulator/matrix_operand.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace emulator {

namespace {

constexpr int BLOCK_ROWS = 4;
constexpr int BLOCK_COLUMNS = 8;
constexpr int LANES = 4; // floats in a vector of 16 bytes, which every target has

// The compiler keeps vectors of this type in registers; loops over arrays it might not.
typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));

Vector load(const float *from) {
    Vector value;
    memcpy(&value, from, sizeof(value));
    return value;
}

void store(float *to, Vector value) { memcpy(to, &value, sizeof(value)); }

// d += a * b for 4 rows and 8 columns of d, whose rows are WGMMA_LARGEST_N apart like b's.
void multiply_block(float *d, const float *a, const float *b) {
    Vector sums[BLOCK_ROWS][2];
    for (int row = 0; row < BLOCK_ROWS; ++row) {
        sums[row][0] = load(d + row * WGMMA_LARGEST_N);
        sums[row][1] = load(d + row * WGMMA_LARGEST_N + LANES);
    }
    for (int k = 0; k < MMA_K; ++k) {
        const Vector left = load(b + k * WGMMA_LARGEST_N);
        const Vector right = load(b + k * WGMMA_LARGEST_N + LANES);
        for (int row = 0; row < BLOCK_ROWS; ++row) {
            const float factor = a[row * MMA_K + k];
            sums[row][0] += factor * left;
            sums[row][1] += factor * right;
        }
    }
    for (int row = 0; row < BLOCK_ROWS; ++row) {
        store(d + row * WGMMA_LARGEST_N, sums[row][0]);
        store(d + row * WGMMA_LARGEST_N + LANES, sums[row][1]);
    }
}

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
                multiply_block(d + row * WGMMA_LARGEST_N + column, rows + row * MMA_K, b + column);
        for_each_accumulator(d, own, n, [](float &from, float &to) { to = from; });
    }
}

} // namespace emulator
