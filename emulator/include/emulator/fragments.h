// Matrices in the registers of a warp, as mma.sync has them, and their products. (PTX ISA: Warp
// Level Matrix Instructions, Matrix Fragments.)
#pragma once

#include "formats/half.h"
#include "emulator/tensor_core.h"

#include <algorithm>
#include <utility>

namespace emulator {
// A lane's part of a matrix of so many lines, which are columns of B and rows of the others. The
// matrix is one of blocks of 8 lines; a lane has as many neighbours in a line as a register.
template <typename T, int LINES, int LENGTH, bool IS_B, bool IS_SUM>
struct Fragment {
    static constexpr int COUNT = LINES * LENGTH / 32;
    T x[COUNT];

    // The line of a lane's element, and the place there.
    static std::pair<int, int> place(int lane, int i) {
        constexpr int PAIR = IS_SUM ? 2 : std::max(4 / int(sizeof(T)), 1);
        constexpr int BELOW = IS_B || LINES == 8 ? 1 : 2, BESIDE = LENGTH / 4 / PAIR;
        const int block = i / PAIR / BELOW;
        return {lane / 4 + (i / PAIR % BELOW + block / BESIDE * BELOW) * 8,
                (lane % 4 + block % BESIDE * 4) * PAIR + i % PAIR};
    }
};

// In which type products are added: integers wrap around or saturate at the end, fp16 rounds once.
template <typename D>
using SumOf = std::conditional_t<std::is_same_v<D, int>, std::int64_t,
                                 std::conditional_t<sizeof(D) == 2, float, D>>;

// D = A * B + C, of M x N, for the warp, each lane of which calls it: `what` says for what.
template <int M, int N, int K, typename A, typename B, typename D>
struct Product {
    Fragment<D, M, N, false, true> *d;
    const Fragment<A, M, K, false, false> *a;
    const Fragment<B, N, K, true, false> *b;
    const Fragment<D, M, N, false, true> *c;
    bool saturates = false;

    void call(const char *what, Site where) { warp_mma(what, this, multiply, M * N * K, where); }

private:
    // Of each lane's part: visit(element, line, place).
    template <typename Part, typename Visit>
    [[gnu::no_sanitize("thread")]] static void each(void **lanes, Part Product::*part,
                                                    const Visit &visit) {
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < std::remove_pointer_t<Part>::COUNT; ++i) {
                const auto [line, at] = std::remove_pointer_t<Part>::place(lane, i);
                visit((static_cast<Product *>(lanes[lane])->*part)->x[i], line, at);
            }
    }
    [[gnu::no_sanitize("thread")]] static void multiply(void **lanes) {
        using Sum = SumOf<D>;
        A left[M * K];
        B right[K * N];
        Sum wide_left[M * K], wide_right[K * N], sums[M * N];
        each(lanes, &Product::a, [&](A x, int row, int i) { left[row * K + i] = x; });
        each(lanes, &Product::b, [&](B x, int column, int i) { right[i * N + column] = x; });
        each(lanes, &Product::c,
             [&](D x, int row, int column) { sums[row * N + column] = Sum(x); });
        widen(left, wide_left, M * K);
        widen(right, wide_right, K * N);
        multiply_add<N>(sums, wide_left, wide_right, M, K);
        const bool saturates = static_cast<Product *>(lanes[0])->saturates;
        each(lanes, &Product::d, [&](D &x, int row, int column) {
            const Sum sum = sums[row * N + column];
            x = D(saturates ? std::clamp<Sum>(sum, INT32_MIN, INT32_MAX) : sum);
        });
    }
};
} // namespace emulator
