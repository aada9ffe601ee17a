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
constexpr int SUMS = M * N / WARP_LANES;

// What a lane passes. The sums are C and then D.
struct Fragments {
    const std::uint32_t *a, *b;
    bool fp16;
    float *sums;
};

void multiply_all(void **arguments) {
    std::uint8_t a[M * K_BYTES], b[N * K_BYTES];
    float *sums[WARP_LANES];
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        Fragments &mine = *static_cast<Fragments *>(arguments[lane]);
        place_registers(a, lane, mine.a, 4);
        place_registers(b, lane, mine.b, 2);
        sums[lane] = mine.sums;
    }
    const bool fp16 = static_cast<Fragments *>(arguments[0])->fp16;
    multiply({.n = N, .accumulate = true, .fp16 = fp16}, 1, sums, a, b);
}

void mma(const char *what, Fragments mine, Site where) {
    if (current->lane() == 0) { // once per warp
        ++counts.mmas;
        counts.multiply_adds += M * N * MMA_K;
    }
    warp_together(what, &mine, multiply_all, where);
}

} // namespace

void mma_m16n8k16(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c,
                  Site where, bool fp16) {
    std::copy_n(c, SUMS, d);
    mma(fp16 ? "mma.sync.m16n8k16 (fp32 accumulators)"
             : "mma.sync.m16n8k16 (bf16, fp32 accumulators)",
        {a, b, fp16, d}, where);
}

// The sums are rounded to fp16 once, at the end of the instruction.
void mma_m16n8k16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                  const std::uint32_t *c, Site where) {
    std::uint16_t halves[SUMS];
    float sums[SUMS];
    std::memcpy(halves, c, sizeof halves);
    std::transform(halves, halves + SUMS, sums, float_of_half);
    mma("mma.sync.m16n8k16 (fp16 accumulators)", {a, b, true, sums}, where);
    std::transform(sums, sums + SUMS, halves, half_of_float);
    std::memcpy(d, halves, sizeof halves);
}

} // namespace emulator
