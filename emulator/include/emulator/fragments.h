// Matrices in the registers of a warp, as mma.sync has them, and their products. (PTX ISA: Warp
// Level Matrix Instructions, Matrix Fragments.)
#pragma once

#include "formats/half.h"
#include "emulator/tensor_core.h"

#include <algorithm>
#include <array>

// Not seen by the hooks of accesses.cpp.
#define EMULATOR_UNSEEN __attribute__((no_sanitize("thread")))

namespace emulator {
// A lane's part of a matrix of so many lines, which are columns of B and rows of the others. The
// matrix is one of blocks of 8 lines; a lane has as many neighbours in a line as a register.
template <typename T, int LINES, int LENGTH, bool IS_B, bool IS_SUM>
struct Fragment {
    static constexpr int COUNT = LINES * LENGTH / 32;
    T x[COUNT];

    // The line of a lane's element, times 256, and the place there.
    EMULATOR_UNSEEN static constexpr int place(int lane, int i) {
        constexpr int PAIR = IS_SUM ? 2 : std::max(4 / int(sizeof(T)), 1);
        constexpr int BELOW = IS_B || LINES == 8 ? 1 : 2, BESIDE = LENGTH / 4 / PAIR;
        const int block = i / PAIR / BELOW;
        return (lane / 4 + (i / PAIR % BELOW + block / BESIDE * BELOW) * 8) * 256 +
               (lane % 4 + block % BESIDE * 4) * PAIR + i % PAIR;
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
    // Of each lane's part: visit(element, where it is in an array, whose lines are so far apart).
    template <int LINE_BY, int BY, typename Part, typename Visit>
    EMULATOR_UNSEEN static void each(void **lanes, Part Product::*part, const Visit &visit) {
        using Of = std::remove_const_t<std::remove_pointer_t<Part>>;
        static constexpr auto PLACES = [] {
            std::array<std::uint16_t, 32 * Of::COUNT> made{};
            for (int i = 0; i < 32 * Of::COUNT; ++i) {
                const int place = Of::place(i / Of::COUNT, i % Of::COUNT);
                made[i] = std::uint16_t(place / 256 * LINE_BY + place % 256 * BY);
            }
            return made;
        }();
        const std::uint16_t *place = PLACES.data();
        for (int lane = 0; lane < 32; ++lane) {
            auto *const x = (static_cast<Product *>(lanes[lane])->*part)->x;
            for (int i = 0; i < Of::COUNT; ++i)
                visit(x[i], *place++);
        }
    }
    EMULATOR_UNSEEN static void multiply(void **lanes) {
        using Sum = SumOf<D>;
        A left[M * K];
        B right[K * N];
        D addend[M * N];
        Sum wide_left[M * K], wide_right[K * N], sums[M * N];
        each<K, 1>(lanes, &Product::a, [&](const A &x, int at) EMULATOR_UNSEEN { left[at] = x; });
        each<1, N>(lanes, &Product::b, [&](const B &x, int at) EMULATOR_UNSEEN { right[at] = x; });
        each<N, 1>(lanes, &Product::c, [&](const D &x, int at) EMULATOR_UNSEEN { addend[at] = x; });
        widen(left, wide_left, M * K);
        widen(right, wide_right, K * N);
        widen(addend, sums, M * N);
        multiply_add<N>(sums, wide_left, wide_right, M, K);
        const bool saturates = static_cast<Product *>(lanes[0])->saturates;
        each<N, 1>(lanes, &Product::d, [&](D &x, int at) EMULATOR_UNSEEN {
            x = D(saturates ? std::clamp<Sum>(sums[at], INT32_MIN, INT32_MAX) : sums[at]);
        });
    }
};
} // namespace emulator
