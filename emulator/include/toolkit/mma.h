// WMMA: matrices that belong to a warp, of all types and sizes but those of bits. (CUDA C++
// Programming Guide: Warp Matrix Functions.)
//
// CUDA does not specify which lane holds which element. Here it is mma.sync's layout, as on compute
// capability 8.0 and later. Loads and stores are each lane's own accesses, inlined: reports name
// the kernel's line.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "emulator/tensor_core.h"
#include "emulator/runtime.h"

namespace nvcuda::wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};

namespace precision {
struct tf32 {};
} // namespace precision
// To the nearest number with 10 bits of fraction, ties away from 0. (PTX ISA: cvt.rna.tf32.f32.)
inline float __float_to_tf32(float value) {
    return std::bit_cast<float>((std::bit_cast<unsigned>(value) + (1u << 12)) >> 13 << 13);
}

enum layout_t { mem_row_major, mem_col_major };
using row_major = std::integral_constant<layout_t, mem_row_major>;
using col_major = std::integral_constant<layout_t, mem_col_major>;

template <typename Use, int M, int N, int K, typename T>
using Part = emulator::Fragment<std::conditional_t<std::is_same_v<T, precision::tf32>, float, T>,
                                std::is_same_v<Use, matrix_b> ? N : M,
                                std::is_same_v<Use, accumulator> ? N : K,
                                std::is_same_v<Use, matrix_b>, std::is_same_v<Use, accumulator>>;
template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment : Part<Use, M, N, K, T> {
    using element_type = std::remove_reference_t<decltype(fragment::x[0])>;
    static constexpr int num_elements = fragment::COUNT;

    // Where the current lane's element is in memory.
    template <typename Element>
    EMULATOR_UNSEEN static Element &element(Element *matrix, int i, unsigned stride,
                                            layout_t layout) {
        const int place = fragment::place(int(threadIdx.x) % 32, i), line = place / 256;
        const bool is_contiguous = (layout == mem_row_major) != std::is_same_v<Use, matrix_b>;
        return matrix[is_contiguous ? line * stride + place % 256 : place % 256 * stride + line];
    }
};

// Every element gets `value`.
template <typename Fragment>
void fill_fragment(Fragment &fragment, const typename Fragment::element_type &value) {
    std::ranges::fill(fragment.x, value);
}

// Loads an operand, whose layout is part of its type, or an accumulator; stride is in elements. The
// whole warp calls it.
template <typename Use, int M, int N, int K, typename T, typename Layout, typename Element>
__forceinline__ void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &fragment,
                                      const Element *matrix, unsigned stride,
                                      layout_t layout = Layout::value, EMULATOR_SITE) {
    emulator::wmma_access("load_matrix_sync", matrix, stride * sizeof(Element), where);
    const emulator::MatrixRead reading;
    for (int i = 0; i < fragment.num_elements; ++i)
        fragment.x[i] = fragment.element(matrix, i, stride, layout);
}

// Stores an accumulator.
template <int M, int N, int K, typename T>
__forceinline__ void store_matrix_sync(T *matrix, const fragment<accumulator, M, N, K, T> &fragment,
                                       unsigned stride, layout_t layout, EMULATOR_SITE) {
    emulator::wmma_access("store_matrix_sync", matrix, stride * sizeof(T), where);
    for (int i = 0; i < fragment.num_elements; ++i)
        fragment.element(matrix, i, stride, layout) = fragment.x[i];
}

// d = a * b + c, with sums in the accumulators' type; the whole warp calls it. Copies leave the
// fragments in registers.
template <int M, int N, int K, typename T, typename A, typename B>
__forceinline__ void mma_sync(fragment<accumulator, M, N, K, T> &d, const A &a, const B &b,
                              const fragment<accumulator, M, N, K, T> &c, bool saturates = false,
                              EMULATOR_SITE) {
    const A left = a;
    const B right = b;
    auto sums = c;
    using Product =
        emulator::Product<M, N, K, typename A::element_type, typename B::element_type, T>;
    Product{&sums, &left, &right, &sums, saturates}.call("wmma::mma_sync", where);
    d = sums;
}
} // namespace nvcuda::wmma
