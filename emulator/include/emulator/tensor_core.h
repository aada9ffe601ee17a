// The tensor cores: wgmma, mma.sync, WMMA, and the matrix moves ldmatrix and stmatrix.
#pragma once

#include "formats/half.h"
#include "emulator/site.h"

#include <cstddef>
#include <cstdint>

namespace emulator {
struct Thread;

// wgmma.mma_async: m64nNk16.f32 of bf16 or fp16, and m64nNk32.f32 of e4m3, whose sums are those of
// e4m3.h. Operands may be negated, those of 16 bits also MN-major (transposed).
struct WgmmaForm {
    int n = 0;
    bool accumulate = false, fp16 = false;
    bool negate_a = false, negate_b = false;
    bool transposed_a = false, transposed_b = false;
    bool e4m3 = false;

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
// floats. HAZARD without a wgmma_fence() since the accumulators were touched; MISUSE if the
// warpgroup's threads disagree about the form, a or b, or a descriptor's fields are not what the
// manual allows (swizzle mode, alignment, offsets outside of shared memory).
void wgmma(float *acc, const WgmmaForm &form, std::uint64_t a, std::uint64_t b, Site where,
           const WgmmaFragment *registers = nullptr);
inline void wgmma(float *acc, const WgmmaForm &form, const WgmmaFragment &a, std::uint64_t b,
                  Site where) {
    wgmma(acc, form, 0, b, where, &a);
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
} // namespace emulator
