// mma.sync.m16n8k16: the lanes of a warp pass their fragments, and the last one multiplies for all.
// (PTX ISA: Matrix Fragments for mma.m16n8k16 with floating point type.)
#include "formats/half.h"
#include "machine.h"
#include "multiply.h"
#include "emulator/tensor_core.h"
#include "emulator/warp.h"

namespace emulator {

namespace {

constexpr int M = 16;
constexpr int N = 8;

// What a lane passes: registers, with two fp16 numbers each, except for fp32 accumulators.
struct Fragments {
    const std::uint32_t *a, *b;
    const void *c;
    void *d;
};

// A lane's place: its row (of A and D, or its column of B) and the first of its two columns.
int row_of(int lane) { return lane / 4; }
int pair_of(int lane) { return lane % 4 * 2; }

// fp16 matrices as bits, for the conversion of all elements at once.
struct Operands {
    std::uint16_t a[M * MMA_K], b[MMA_K * N];
};

void collect_operands(Operands &bits, const Fragments &mine, int lane) {
    const int row = row_of(lane);
    const int pair = pair_of(lane);
    for (int i = 0; i < 4; ++i) // the eight rows below, then the eight columns to the right
        std::memcpy(&bits.a[(row + i % 2 * 8) * MMA_K + pair + i / 2 * 8], &mine.a[i],
                    sizeof mine.a[i]);
    for (int i = 0; i < 2; ++i) {
        bits.b[(pair + i * 8) * N + row] = std::uint16_t(mine.b[i]);
        bits.b[(pair + i * 8 + 1) * N + row] = std::uint16_t(mine.b[i] >> 16);
    }
}

using Widen = float(std::uint16_t);

template <Widen *FLOAT_OF>
void widen(const std::uint16_t *from, float *to, int count) {
    for (int i = 0; i < count; ++i)
        to[i] = FLOAT_OF(from[i]);
}

// d += a * b.
template <Widen *FLOAT_OF>
void multiply(float *d, const Operands &bits) {
    float a[M * MMA_K], b[MMA_K * N];
    widen<FLOAT_OF>(bits.a, a, M * MMA_K);
    widen<FLOAT_OF>(bits.b, b, MMA_K * N);
    for (int row = 0; row < M; row += BLOCK_ROWS)
        multiply_block<N>(d + row * N, a + row * MMA_K, b);
}

// Sum is what an accumulator is: a float, or the bits of an fp16 number. The sums are fp32 for
// both, and rounded to fp16 once, at the end of the instruction. FLOAT_OF converts the operands.
template <typename Sum, Widen *FLOAT_OF>
void multiply_all(void **arguments) {
    const auto fragments = [arguments](int lane) -> const Fragments & {
        return *static_cast<const Fragments *>(arguments[lane]);
    };
    Operands bits;
    Sum sums[M * N];
    // A lane has two sums side by side in either half of D.
    constexpr std::size_t PAIR = 2 * sizeof(Sum);
    constexpr int HALF = 8 * N;
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        collect_operands(bits, fragments(lane), lane);
        Sum *own = sums + row_of(lane) * N + pair_of(lane);
        const char *from = static_cast<const char *>(fragments(lane).c);
        std::memcpy(own, from, PAIR);
        std::memcpy(own + HALF, from + PAIR, PAIR);
    }
    if constexpr (sizeof(Sum) == sizeof(float)) {
        multiply<FLOAT_OF>(sums, bits);
    } else {
        float d[M * N];
        widen<float_of_half>(sums, d, M * N);
        multiply<FLOAT_OF>(d, bits);
        for (int i = 0; i < M * N; ++i)
            sums[i] = half_of_float(d[i]);
    }
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        const Sum *own = sums + row_of(lane) * N + pair_of(lane);
        char *to = static_cast<char *>(fragments(lane).d);
        std::memcpy(to, own, PAIR);
        std::memcpy(to + PAIR, own + HALF, PAIR);
    }
}

void mma(const char *what, Fragments mine, void (*work)(void **), Site where) {
    if (current->lane() == 0) { // once per warp
        ++counts.mmas;
        counts.multiply_adds += M * N * MMA_K;
    }
    warp_together(what, &mine, work, where);
}

} // namespace

void mma_m16n8k16_f32(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c,
                      Site where, bool fp16) {
    if (fp16)
        mma("mma.sync.m16n8k16 (fp32 accumulators)", {a, b, c, d},
            multiply_all<float, float_of_half>, where);
    else
        mma("mma.sync.m16n8k16 (bf16, fp32 accumulators)", {a, b, c, d},
            multiply_all<float, float_of_bf16>, where);
}

void mma_m16n8k16_f16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                      const std::uint32_t *c, Site where) {
    mma("mma.sync.m16n8k16 (fp16 accumulators)", {a, b, c, d},
        multiply_all<std::uint16_t, float_of_half>, where);
}

} // namespace emulator
