// The tensor cores: wgmma, mma.sync, WMMA, and the matrix moves ldmatrix and stmatrix.
#pragma once

#include "formats/half.h"
#include "emulator/site.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// Not seen by the hooks of accesses.cpp.
#define EMULATOR_UNSEEN __attribute__((no_sanitize("thread")))

namespace emulator {
struct Thread;

// wgmma.mma_async: m64nNk16.f32 of bf16 or fp16, m64nNk8.f32 of tf32, and m64nNk32.f32 of e4m3,
// whose sums are those of e4m3.h. Operands may be negated, those of 16 bits also MN-major
// (transposed).
struct WgmmaForm {
    int n = 0;
    bool accumulate = false, fp16 = false;
    bool negate_a = false, negate_b = false;
    bool transposed_a = false, transposed_b = false;
    int bytes = 2; // of an element

    bool operator==(const WgmmaForm &) const = default;
};
// A in registers: the values, and the variables, of which the thread may write others later;
// nullptr for one that nothing else can write.
struct WgmmaFragment {
    std::uint32_t values[4];
    const void *places[4];
};
// Whether a wgmma of the program has such an A: set before main() by the templates that call it.
extern bool registers_watched;

// This thread's part, of A and B by their descriptors; or A is in registers, which no code may
// write between the last wgmma_fence() and the end of the wgmma, and `a` is 0. acc has n / 2
// floats in a row, or is nullptr, and `apart` has their addresses. HAZARD without a wgmma_fence()
// since the accumulators were touched; MISUSE if the warpgroup's threads disagree about the form, a
// or b, or a descriptor's fields are not what the manual allows (swizzle mode, alignment, offsets
// outside of shared memory).
void wgmma(float *acc, const WgmmaForm &form, std::uint64_t a, std::uint64_t b, Site where,
           float *const *apart = nullptr, const WgmmaFragment *registers = nullptr);
inline void wgmma(float *acc, const WgmmaForm &form, const WgmmaFragment &a, std::uint64_t b,
                  Site where, float *const *apart = nullptr) {
    wgmma(acc, form, 0, b, where, apart, &a);
}

// wgmma.fence and wgmma.commit_group.
void wgmma_fence(Site where);
void wgmma_commit(Site where);
// wgmma.wait_group: until at most `pending` of the thread's groups are in flight. Groups that are
// waited for but not committed are not waited for: MISUSE at exit if any wgmma is left uncommitted.
void wgmma_wait(int pending, Site where);

// A plain access of the current thread to its own stack (found by the hooks of accesses.cpp):
// HAZARD if a wgmma that is not known to be complete writes there, or reads what is written; else
// marks the range touched.
void accumulators_accessed(Thread &thread, const void *address, std::size_t bytes, bool is_write,
                           std::uintptr_t pc);

// All lanes of the warp call `what`, of so many products: the last one does the work of all.
void warp_mma(const char *what, void *argument, void (*work)(void **arguments), int products,
              Site where);
// All lanes of the warp call `what`: the address and the distance of rows, in bytes, are multiples
// of 32 and of 16.
void wmma_access(const char *what, const void *address, std::size_t stride, Site where);
// Elements in the type of sums; and sums += a * b, of m x k and k x N numbers by rows, added one
// after the other in the order of k.
void widen(const Half *from, float *to, int count);
void widen(const Bfloat *from, float *to, int count);
template <typename T, typename Sum>
void widen(const T *from, Sum *to, int count) {
    for (int i = 0; i < count; ++i)
        to[i] = Sum(from[i]);
}
template <int N, typename Sum>
void multiply_add(Sum *sums, const Sum *a, const Sum *b, int m, int k);

// ldmatrix.m8n8.x{1,2,4}{.trans}: lane 8i + r gives the shared address of row r of matrix i,
// 16-byte aligned. Counted for bank conflicts.
void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, std::uint32_t row,
              Site where);
// stmatrix.m8n8.x{1,2,4}{.trans}: a generic-proxy write.
void stmatrix(std::uint32_t row, const std::uint32_t *registers, int matrices, bool transposed,
              Site where);

// ---------------------------------------------------------------------------- fragments
// (PTX ISA: Warp Level Matrix Instructions, Matrix Fragments.)

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
