
#include "formats/half.h"
#include "formats/number.h"
#include "machine.h"
#include "emulator/ptx.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace emulator {

float float_of_half(std::uint16_t half) { return fp16_to_float(half); }
std::uint16_t half_of_float(float value) { return fp16_from_float(value); }
float float_of_bf16(std::uint16_t bf16) { return bf16_to_float(bf16); }
std::uint16_t bf16_of_float(float value) { return bf16_from_float(value); }
float float_of_e4m3(std::uint8_t e4m3) { return e4m3_to_float(e4m3); }
std::uint8_t e4m3_of_float(float value) { return e4m3_from_float(value); }

namespace {

constexpr int WARP_ROWS = 16;
constexpr int BLOCK_ROWS = 4;
constexpr int BLOCK_COLUMNS = 8;

// d += a * b for a block of d. Rows of a lie MMA_K floats apart, those of d and b `stride`.
void multiply_block(float *d, const float *a, const float *b, int stride) {
    // The compiler keeps vectors in registers, arrays not always. Every target has vectors of 16
    // bytes.
    typedef float Vector __attribute__((vector_size(16)));
    struct Row {
        Vector left, right;
    };
    static_assert(sizeof(Row) == BLOCK_COLUMNS * sizeof(float));
    Row sums[BLOCK_ROWS];
    for (int row = 0; row < BLOCK_ROWS; ++row)
        std::memcpy(&sums[row], d + row * stride, sizeof(Row));
    for (int k = 0; k < MMA_K; ++k) {
        Row factors;
        std::memcpy(&factors, b + k * stride, sizeof(Row));
        for (int row = 0; row < BLOCK_ROWS; ++row) {
            sums[row].left += a[row * MMA_K + k] * factors.left;
            sums[row].right += a[row * MMA_K + k] * factors.right;
        }
    }
    for (int row = 0; row < BLOCK_ROWS; ++row)
        std::memcpy(d + row * stride, &sums[row], sizeof(Row));
}

// Calls visit(row, column, sum) for all sums that a warp's lanes hold of n columns.
template <typename Sum, typename Visit>
void for_each_sum(Sum *const *sums, int n, const Visit &visit) {
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        const int row = lane / 4;
        for (int i = 0, column = lane % 4 * 2; i < n / 2; i += 4, column += 8) {
            visit(row, column, sums[lane][i]);
            visit(row, column + 1, sums[lane][i + 1]);
            visit(row + 8, column, sums[lane][i + 2]);
            visit(row + 8, column + 1, sums[lane][i + 3]);
        }
    }
}

// A warp's 16 rows. b has n columns.
void multiply_warp(float *const *sums, int n, bool accumulate, const float *a, const float *b) {
    static float d[WARP_ROWS * WGMMA_LARGEST_N]; // too large for a fiber's stack
    if (accumulate)
        for_each_sum(sums, n, [n](int row, int column, float sum) { d[row * n + column] = sum; });
    else
        std::fill_n(d, WARP_ROWS * n, 0.0f);
    for (int column = 0; column < n; column += BLOCK_COLUMNS)
        for (int row = 0; row < WARP_ROWS; row += BLOCK_ROWS)
            multiply_block(d + row * n + column, a + row * MMA_K, b + column, n);
    for_each_sum(sums, n, [n](int row, int column, float &sum) { sum = d[row * n + column]; });
}

// The 16-bit elements of an operand, as floats: those of row r and k go to r * row_step + k *
// k_step.
template <float FLOAT_OF(std::uint16_t)>
void widen(const std::uint8_t *bytes, int rows, bool transposed, float *to, int row_step,
           int k_step) {
    constexpr int TOGETHER = 8; // converted at once
    const int lines = transposed ? MMA_K : rows, elements = transposed ? rows : MMA_K;
    if (transposed)
        std::swap(row_step, k_step);
    for (int line = 0; line < lines; ++line)
        for (int first = 0; first < elements; first += TOGETHER, bytes += 2 * TOGETHER) {
            std::uint16_t bits[TOGETHER];
            float wide[TOGETHER];
            std::memcpy(bits, bytes, sizeof bits);
            for (int i = 0; i < TOGETHER; ++i)
                wide[i] = FLOAT_OF(bits[i]);
            for (int i = 0; i < TOGETHER; ++i)
                to[line * row_step + (first + i) * k_step] = wide[i];
        }
}

void multiply_16_bits(const WgmmaForm &form, int warps, float *const *sums, const std::uint8_t *a,
                      const std::uint8_t *b) {
    static float wide_a[WGMMA_M * MMA_K], wide_b[MMA_K * WGMMA_LARGEST_N];
    const auto widen_all = form.fp16 ? widen<fp16_to_float> : widen<bf16_to_float>;
    widen_all(a, warps * WARP_ROWS, form.transposed_a, wide_a, MMA_K, 1);
    widen_all(b, form.n, form.transposed_b, wide_b, 1, form.n);
    for (int warp = 0; warp < warps; ++warp)
        multiply_warp(sums + warp * WARP_LANES, form.n, form.accumulate,
                      wide_a + warp * WARP_ROWS * MMA_K, wide_b);
}

void multiply_e4m3(const WgmmaForm &form, int warps, float *const *sums, const std::uint8_t *a,
                   const std::uint8_t *b) {
    static e4m3_group rows[WGMMA_M], columns[WGMMA_LARGEST_N];
    for (int row = 0; row < warps * WARP_ROWS; ++row)
        e4m3_read(&rows[row], a + row * K_BYTES);
    for (int column = 0; column < form.n; ++column)
        e4m3_read(&columns[column], b + column * K_BYTES);
    for (int warp = 0; warp < warps; ++warp)
        for_each_sum(sums + warp * WARP_LANES, form.n, [&](int row, int column, float &sum) {
            sum = e4m3_multiply_add(&rows[warp * WARP_ROWS + row], &columns[column],
                                    form.accumulate ? sum : 0.0f);
        });
}

// Changes the signs of all elements.
void negate(std::uint8_t *bytes, int rows, bool e4m3) {
    const int size = e4m3 ? 1 : 2;
    for (int i = size - 1; i < rows * K_BYTES; i += size)
        bytes[i] ^= 0x80;
}

} // namespace

void place_registers(std::uint8_t *rows, int lane, const std::uint32_t *registers, int count) {
    const int below = count / 2; // matrices one below the other
    for (int i = 0; i < count; ++i) {
        const int row = i % below * 8 + lane / 4, byte = i / below * 16 + lane % 4 * 4;
        std::memcpy(rows + row * K_BYTES + byte, &registers[i], sizeof registers[i]);
    }
}

void multiply(const WgmmaForm &form, int warps, float *const *sums, std::uint8_t *a,
              std::uint8_t *b) {
    if (form.negate_a)
        negate(a, warps * WARP_ROWS, form.e4m3);
    if (form.negate_b)
        negate(b, form.n, form.e4m3);
    (form.e4m3 ? multiply_e4m3 : multiply_16_bits)(form, warps, sums, a, b);
}

// ---------------------------------------------------------------------------- mma.sync

// The lanes of a warp pass their fragments, and the last one multiplies for all. (PTX ISA: Matrix
// Fragments for mma.m16n8k16 with floating point type.)
namespace {

constexpr int MMA_N = 8;
constexpr int SUMS = WARP_ROWS * MMA_N / WARP_LANES;

// What a lane passes. The sums are C and then D, of floats; or of integers, if there are bytes.
struct Fragments {
    const std::uint32_t *a, *b;
    void *sums;
    bool fp16 = false, has_bytes = false, signed_a = false, signed_b = false, saturates = false;
};

void multiply_bytes(const Fragments &form, std::int32_t *const *sums, const std::uint8_t *a,
                    const std::uint8_t *b) {
    const auto wide = [](std::uint8_t byte, bool is_signed) {
        return is_signed ? std::int8_t(byte) : std::int64_t(byte);
    };
    for_each_sum(sums, MMA_N, [&](int row, int column, std::int32_t &to) {
        std::int64_t sum = to;
        for (int k = 0; k < K_BYTES; ++k)
            sum += wide(a[row * K_BYTES + k], form.signed_a) *
                   wide(b[column * K_BYTES + k], form.signed_b);
        to = std::int32_t(form.saturates ? std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX)
                                         : sum);
    });
}

void multiply_all(void **arguments) {
    std::uint8_t a[WARP_ROWS * K_BYTES], b[MMA_N * K_BYTES];
    void *sums[WARP_LANES];
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        const Fragments &mine = *static_cast<Fragments *>(arguments[lane]);
        place_registers(a, lane, mine.a, 4);
        place_registers(b, lane, mine.b, 2);
        sums[lane] = mine.sums;
    }
    const Fragments &form = *static_cast<Fragments *>(arguments[0]);
    if (form.has_bytes)
        multiply_bytes(form, reinterpret_cast<std::int32_t **>(sums), a, b);
    else
        multiply({.n = MMA_N, .accumulate = true, .fp16 = form.fp16}, 1,
                 reinterpret_cast<float **>(sums), a, b);
}

void mma(const char *what, Fragments mine, Site where) {
    if (current->lane() == 0) { // once per warp
        ++counts.mmas;
        counts.multiply_adds += WARP_ROWS * MMA_N * MMA_K;
    }
    warp_together(what, &mine, multiply_all, where);
}

} // namespace

void mma_m16n8k16(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c,
                  Site where, bool fp16) {
    std::copy_n(c, SUMS, d);
    mma(fp16 ? "mma.sync.m16n8k16 (fp32 accumulators)"
             : "mma.sync.m16n8k16 (bf16, fp32 accumulators)",
        {a, b, d, fp16}, where);
}

void mma_m16n8k32(std::int32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                  const std::int32_t *c, Site where, bool signed_a, bool signed_b, bool saturates) {
    std::copy_n(c, SUMS, d);
    mma("mma.sync.m16n8k32 (integers)", {a, b, d, false, true, signed_a, signed_b, saturates},
        where);
}

// The sums are rounded to fp16 once, at the end of the instruction.
void mma_m16n8k16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                  const std::uint32_t *c, Site where) {
    std::uint16_t halves[SUMS];
    float sums[SUMS];
    std::memcpy(halves, c, sizeof halves);
    std::transform(halves, halves + SUMS, sums, fp16_to_float);
    mma("mma.sync.m16n8k16 (fp16 accumulators)", {a, b, sums, true}, where);
    std::transform(sums, sums + SUMS, halves, fp16_from_float);
    std::memcpy(d, halves, sizeof halves);
}

// ---------------------------------------------------------------------------- matrix moves
// ldmatrix and stmatrix: a warp moves up to four 8x8 matrices of 16-bit elements between shared
// memory and registers. (PTX ISA: ldmatrix, stmatrix.)

namespace {

constexpr int ROWS = 8; // of a matrix; as many columns
constexpr std::uint32_t ROW_BYTES = 16;
constexpr int MOST_MATRICES = 4;

// What a lane passes.
struct Move {
    int matrices;
    bool transposed;
    Site site;
    std::uint16_t registers[MOST_MATRICES][2] = {};
    Cta *cta = current->cta;
    std::uint32_t row = 0; // offset in shared memory; of the lanes that pass an address
};

// Lane l holds two neighbours of row l / 4 of each matrix, or of column l / 4 if it is transposed.
template <bool IS_WRITE>
void move_all(void **arguments) {
    const auto move_of = [&](int lane) -> Move & { return *static_cast<Move *>(arguments[lane]); };
    const Move &first = move_of(0);
    for (int line = 0; line < first.matrices * ROWS; ++line) {
        const int matrix = line / ROWS, row = line % ROWS;
        unsigned char *element = first.cta->shared.generic(move_of(line).row, ROW_BYTES);
        for (int column = 0; column < ROWS; ++column, element += 2) {
            const int lane = first.transposed ? column * 4 + row / 2 : row * 4 + column / 2;
            const int half = (first.transposed ? row : column) % 2;
            std::uint16_t &held = move_of(lane).registers[matrix][half];
            if (IS_WRITE)
                std::memcpy(element, &held, sizeof held);
            else
                std::memcpy(&held, element, sizeof held);
        }
    }
}

// The name of the collective: lanes that call different forms have diverged.
const char *name_of_form(bool is_write, int matrices, bool transposed) {
    static const char *const names[][2] = {
        {"ldmatrix.x1", "ldmatrix.x1.trans"}, {"ldmatrix.x2", "ldmatrix.x2.trans"},
        {"ldmatrix.x4", "ldmatrix.x4.trans"}, {"stmatrix.x1", "stmatrix.x1.trans"},
        {"stmatrix.x2", "stmatrix.x2.trans"}, {"stmatrix.x4", "stmatrix.x4.trans"}};
    return names[is_write * 3 + matrices / 2][transposed];
}

// Checks the calling lane's row and moves; the lanes without an address pass anything.
void move_together(Move &move, std::uint32_t row, bool is_write) {
    const char *name = name_of_form(is_write, move.matrices, move.transposed);
    if (current->lane() < move.matrices * ROWS) {
        move.row = ptx::own_at(row, name, move.site).offset;
        if (move.row % ROW_BYTES != 0)
            fail(Mistake::MISUSE, move.site, "passed it here",
                 "%s: the row at shared address 0x%x is not 16-byte aligned", name,
                 SHARED_BASE + move.row);
        bank_access(*current, move.row, ROW_BYTES, is_write, move.site.pc);
        access_shared(*move.cta, move.row, ROW_BYTES, {is_write, move.site});
        if (is_write)
            trace::wrote(*current, "shared memory", move.site);
    }
    warp_together(name, &move, is_write ? move_all<true> : move_all<false>, move.site);
}

} // namespace

void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, std::uint32_t row,
              Site where) {
    Move move{matrices, transposed, where};
    move_together(move, row, false);
    std::memcpy(registers, move.registers, std::size_t(matrices) * sizeof *registers);
}

void stmatrix(std::uint32_t row, const std::uint32_t *registers, int matrices, bool transposed,
              Site where) {
    Move move{matrices, transposed, where};
    std::memcpy(move.registers, registers, std::size_t(matrices) * sizeof *registers);
    move_together(move, row, true);
}

} // namespace emulator
