// WMMA: matrices of 16 x 16 that belong to a warp, fp16 in, fp32 or fp16 sums. (CUDA C++
// Programming Guide: Warp Matrix Functions.)
//
// CUDA does not specify which lane holds which element. Here it is mma.sync's layout, as on compute
// capability 8.0 and later, and mma_sync() is two mma.sync side by side. Loads and stores are each
// lane's own accesses, inlined: reports name the kernel's line.
#pragma once

#include <cuda_fp16.h>

#include "emulator/report.h"
#include "emulator/runtime.h"
#include "emulator/tensor_core.h"

#include <array>

namespace emulator::wmma {

// All lanes of the warp call `what`, and the address and the distance of rows are multiples of 32
// and of 16 bytes, as the manual requires.
inline void check_access(const char *what, const void *address, std::size_t stride_bytes,
                         Site where) {
    warp_together(
        what, nullptr, [](void **) {}, where);
    const char *const wrong = std::uintptr_t(address) % 32 != 0 ? "a 32-byte aligned address"
                              : stride_bytes % 16 != 0 ? "rows a multiple of 16 bytes apart"
                                                       : nullptr;
    if (wrong != nullptr)
        fail(Mistake::MISUSE, {note_at(where, "called here")}, "%s needs %s", what, wrong);
}

// Where element i of a lane is in the matrix, which is B or not.
template <bool IS_B, typename T>
T &element(T *matrix, int i, unsigned stride, bool rows) {
    const int lane = int(threadIdx.x) % 32;
    int row = lane / 4 + i / 2 % 2 * 8, column = lane % 4 * 2 + i % 2 + i / 4 * 8;
    if (IS_B) {
        row = lane % 4 * 2 + i % 2 + i / 2 % 2 * 8;
        column = lane / 4 + i / 4 * 8;
    }
    return rows ? matrix[row * stride + column] : matrix[column * stride + row];
}

} // namespace emulator::wmma

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};

enum layout_t { mem_row_major, mem_col_major };
using row_major = std::integral_constant<layout_t, mem_row_major>;
using col_major = std::integral_constant<layout_t, mem_col_major>;

// A lane's part of a matrix.
template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
    static_assert(M == 16 && N == 16 && K == 16, "the emulator has 16 x 16 x 16 alone");
    static_assert(std::is_same_v<T, half> ||
                      (std::is_same_v<T, float> && std::is_same_v<Use, accumulator>),
                  "operands are fp16, accumulators fp16 or fp32");

    static constexpr int num_elements = 16 * 16 / 32;
    T x[num_elements];
};

template <typename T>
using accumulator_fragment = fragment<accumulator, 16, 16, 16, T>;

// Every element gets `value`.
template <typename Use, typename T, typename Layout>
void fill_fragment(fragment<Use, 16, 16, 16, T, Layout> &fragment,
                   const std::type_identity_t<T> &value) {
    for (T &element : fragment.x)
        element = value;
}

// Loads an operand, whose layout is part of its type, or an accumulator; stride is in elements. The
// whole warp calls it.
template <typename Use, typename T, typename Layout>
__forceinline__ void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout> &fragment,
                                      const T *matrix, unsigned stride,
                                      layout_t layout = Layout::value, EMULATOR_SITE) {
    constexpr bool IS_B = std::is_same_v<Use, matrix_b>;
    emulator::wmma::check_access("load_matrix_sync", matrix, stride * sizeof(T), where);
    const emulator::MatrixRead reading;
    for (int i = 0; i < fragment.num_elements; ++i)
        fragment.x[i] = emulator::wmma::element<IS_B>(matrix, i, stride, layout == mem_row_major);
}

// Stores an accumulator.
template <typename T>
__forceinline__ void store_matrix_sync(T *matrix, const accumulator_fragment<T> &fragment,
                                       unsigned stride, layout_t layout, EMULATOR_SITE) {
    emulator::wmma::check_access("store_matrix_sync", matrix, stride * sizeof(T), where);
    for (int i = 0; i < fragment.num_elements; ++i)
        emulator::wmma::element<false>(matrix, i, stride, layout == mem_row_major) = fragment.x[i];
}

// d = a * b + c, with sums in the accumulators' type; the whole warp calls it.
template <typename LayoutA, typename LayoutB, typename T>
void mma_sync(accumulator_fragment<T> &d, const fragment<matrix_a, 16, 16, 16, half, LayoutA> &a,
              const fragment<matrix_b, 16, 16, 16, half, LayoutB> &b,
              const accumulator_fragment<T> &c, EMULATOR_SITE) {
    // Registers hold an fp32 number or two fp16 ones: half of them are of the left columns.
    using Register = std::conditional_t<std::is_same_v<T, float>, float, std::uint32_t>;
    constexpr std::size_t COUNT = sizeof c.x / sizeof(Register);
    const auto a_registers = std::bit_cast<std::array<std::uint32_t, 4>>(a);
    const auto b_registers = std::bit_cast<std::array<std::uint32_t, 4>>(b);
    const auto c_registers = std::bit_cast<std::array<Register, COUNT>>(c);
    std::array<Register, COUNT> d_registers;
    for (std::size_t columns = 0; columns < 2; ++columns) {
        Register *to = &d_registers[columns * COUNT / 2];
        const Register *from = &c_registers[columns * COUNT / 2];
        emulator::mma_m16n8k16(to, a_registers.data(), &b_registers[columns * 2], from, where);
    }
    d = std::bit_cast<accumulator_fragment<T>>(d_registers);
}

} // namespace nvcuda::wmma
