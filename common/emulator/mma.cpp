// mma.sync.m16n8k16: the lanes of a warp bring their fragments, the last one multiplies for all.
// (PTX ISA: Matrix Fragments for mma.m16n8k16 with floating point type.)
#include "emulator/counts.h"
#include "emulator/half.h"
#include "emulator/machine.h"
#include "emulator/tensor_core.h"
#include "emulator/warp.h"

namespace emulator {

namespace {

constexpr int M = 16;
constexpr int N = 8;
constexpr int K = 16;

// What a lane brings.
struct Fragments {
    const std::uint32_t *a, *b;
    const float *c;
    float *d;
};

// The compiler keeps vectors of this type in registers; loops over arrays it might not.
typedef float Row __attribute__((vector_size(N * sizeof(float))));

struct Matrices {
    float a[M][K];
    Row b[K];
    Row d[M];
};

// The two fp16 values of a register, widened.
void unpack(std::uint32_t packed, float *low, float *high) {
    *low = float_of_half(std::uint16_t(packed));
    *high = float_of_half(std::uint16_t(packed >> 16));
}

// A lane's place: its row (of A and D, or its column of B) and the first of its two columns.
int row_of(int lane) { return lane / 4; }
int pair_of(int lane) { return lane % 4 * 2; }

void collect_operands(Matrices &matrices, const Fragments &mine, int lane) {
    const int row = row_of(lane);
    const int pair = pair_of(lane);
    for (int i = 0; i < 4; ++i) { // the eight rows below, then the eight columns to the right
        float *to = &matrices.a[row + i % 2 * 8][pair + i / 2 * 8];
        unpack(mine.a[i], to, to + 1);
    }
    for (int i = 0; i < 2; ++i) {
        const int k = pair + i * 8;
        float low, high;
        unpack(mine.b[i], &low, &high);
        matrices.b[k][row] = low;
        matrices.b[k + 1][row] = high;
    }
}

// Products of 16-bit operands are exact in fp32; their sums are rounded one after the other.
void multiply(Matrices &matrices) {
    for (int row = 0; row < M; ++row) {
        Row sum = matrices.d[row];
        for (int k = 0; k < K; ++k)
            sum += matrices.a[row][k] * matrices.b[k];
        matrices.d[row] = sum;
    }
}

// Where element i of a lane's accumulators is in D.
int d_row(int lane, int i) { return row_of(lane) + i / 2 * 8; }
int d_column(int lane, int i) { return pair_of(lane) + i % 2; }

void multiply_all(void **arguments) {
    const auto fragments = [arguments](int lane) -> const Fragments & {
        return *static_cast<const Fragments *>(arguments[lane]);
    };
    Matrices matrices;
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        collect_operands(matrices, fragments(lane), lane);
        for (int i = 0; i < 4; ++i)
            matrices.d[d_row(lane, i)][d_column(lane, i)] = fragments(lane).c[i];
    }
    multiply(matrices);
    for (int lane = 0; lane < WARP_LANES; ++lane)
        for (int i = 0; i < 4; ++i)
            fragments(lane).d[i] = matrices.d[d_row(lane, i)][d_column(lane, i)];
}

void mma(const char *what, Fragments mine, Site where) {
    if (current->lane() == 0) { // once per warp
        ++counts.mmas;
        counts.multiply_adds += M * N * K;
    }
    warp_together(what, WHOLE_WARP, &mine, multiply_all, false, where);
}

} // namespace

void mma_m16n8k16_f32(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c,
                      Site where) {
    mma("mma.sync.m16n8k16 (fp32 accumulators)", {a, b, c, d}, where);
}

// The sums are fp32 here as well, and rounded to fp16 once, at the end of the instruction.
void mma_m16n8k16_f16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                      const std::uint32_t *c, Site where) {
    float sums[4];
    for (int i = 0; i < 2; ++i)
        unpack(c[i], &sums[2 * i], &sums[2 * i + 1]);
    mma("mma.sync.m16n8k16 (fp16 accumulators)", {a, b, sums, sums}, where);
    for (int i = 0; i < 2; ++i)
        d[i] = half_of_float(sums[2 * i]) | std::uint32_t(half_of_float(sums[2 * i + 1])) << 16;
}

} // namespace emulator
