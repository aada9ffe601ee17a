
#include "formats/half.h"
#include "formats/number.h"
#include "machine.h"
#include "emulator/ptx.h"

#include <algorithm>
#include <bit>
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
constexpr int WARP_ROWS = 16, WARPS = WGMMA_M / WARP_ROWS;
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

// The elements of an operand, as floats: those of row r and k go to r * row_step + k * k_step.
template <typename T, auto FLOAT_OF>
void widen(const std::uint8_t *bytes, int rows, bool transposed, float *to, int row_step,
           int k_step) {
    constexpr int TOGETHER = 8, K = K_BYTES / sizeof(T); // converted at once; in a row
    const int lines = transposed ? K : rows, elements = transposed ? rows : K;
    if (transposed)
        std::swap(row_step, k_step);
    for (int line = 0; line < lines; ++line)
        for (int first = 0; first < elements; first += TOGETHER, bytes += TOGETHER * sizeof(T)) {
            T bits[TOGETHER];
            float wide[TOGETHER];
            std::memcpy(bits, bytes, sizeof bits);
            for (int i = 0; i < TOGETHER; ++i)
                wide[i] = FLOAT_OF(bits[i]);
            for (int i = 0; i < TOGETHER; ++i)
                to[line * row_step + (first + i) * k_step] = wide[i];
        }
}

// Products of 16-bit elements, or of half as many of tf32.
void multiply_floats(const WgmmaForm &form, float *const *sums, const std::uint8_t *a,
                     const std::uint8_t *b) {
    static float wide_a[WGMMA_M * MMA_K], wide_b[MMA_K * WGMMA_LARGEST_N];
    const auto widen_all = form.bytes == 4
                               ? widen<std::uint32_t, std::bit_cast<float, std::uint32_t>>
                           : form.fp16 ? widen<std::uint16_t, fp16_to_float>
                                       : widen<std::uint16_t, bf16_to_float>;
    if (form.bytes == 4)
        std::ranges::fill(wide_a, 0.0f), std::ranges::fill(wide_b, 0.0f);
    widen_all(a, WGMMA_M, form.transposed_a, wide_a, MMA_K, 1);
    widen_all(b, form.n, form.transposed_b, wide_b, 1, form.n);
    for (int warp = 0; warp < WARPS; ++warp)
        multiply_warp(sums + warp * WARP_LANES, form.n, form.accumulate,
                      wide_a + warp * WARP_ROWS * MMA_K, wide_b);
}

void multiply_e4m3(const WgmmaForm &form, float *const *sums, const std::uint8_t *a,
                   const std::uint8_t *b) {
    static e4m3_group rows[WGMMA_M], columns[WGMMA_LARGEST_N];
    for (int row = 0; row < WGMMA_M; ++row)
        e4m3_read(&rows[row], a + row * K_BYTES);
    for (int column = 0; column < form.n; ++column)
        e4m3_read(&columns[column], b + column * K_BYTES);
    for (int warp = 0; warp < WARPS; ++warp)
        for_each_sum(sums + warp * WARP_LANES, form.n, [&](int row, int column, float &sum) {
            sum = e4m3_multiply_add(&rows[warp * WARP_ROWS + row], &columns[column],
                                    form.accumulate ? sum : 0.0f);
        });
}

// Changes the signs of all elements.
void negate(std::uint8_t *bytes, int rows, int size) {
    for (int i = size - 1; i < rows * K_BYTES; i += size)
        bytes[i] ^= 0x80;
}
} // namespace

void place_registers(std::uint8_t *rows, int lane, const std::uint32_t (&registers)[4]) {
    for (int i = 0; i < 4; ++i)
        std::memcpy(rows + (i % 2 * 8 + lane / 4) * K_BYTES + i / 2 * 16 + lane % 4 * 4,
                    &registers[i], sizeof registers[i]);
}

void multiply(const WgmmaForm &form, float *const *sums, std::uint8_t *a, std::uint8_t *b) {
    if (form.negate_a)
        negate(a, WGMMA_M, form.bytes);
    if (form.negate_b)
        negate(b, form.n, form.bytes);
    (form.bytes == 1 ? multiply_e4m3 : multiply_floats)(form, sums, a, b);
}

// ---------------------------------------------------------------------------- a warp's products
void warp_mma(const char *what, void *argument, void (*work)(void **arguments), int products,
              Site where) {
    constexpr int USUAL = WARP_ROWS * BLOCK_COLUMNS * MMA_K; // of mma.sync.m16n8k16
    if (current->lane() == 0) {                              // once per warp
        counts.mmas += std::uint64_t(std::max(products / USUAL, 1));
        counts.multiply_adds += std::uint64_t(products);
    }
    warp_together(what, argument, work, where);
}

void wmma_access(const char *what, const void *address, std::size_t stride, Site where) {
    warp_together(
        what, nullptr, [](void **) {}, where);
    if (std::uintptr_t(address) % 32 != 0 || stride % 16 != 0)
        reject(where, "%s needs a 32-byte aligned address and rows 16 n bytes apart", what);
}
void widen(const Half *from, float *to, int count) {
    for (int i = 0; i < count; ++i)
        to[i] = fp16_to_float(from[i].bits);
}
void widen(const Bfloat *from, float *to, int count) {
    for (int i = 0; i < count; ++i)
        to[i] = bf16_to_float(from[i].bits);
}

template <int N, typename Sum>
void multiply_add(Sum *sums, const Sum *a, const Sum *b, int m, int k) {
    for (; m > 0; --m, a += k, sums += N) {
        Sum row[N];
        std::copy_n(sums, N, row);
        for (int i = 0; i < k; ++i)
            for (int column = 0; column < N; ++column)
                row[column] += a[i] * b[i * N + column];
        std::copy_n(row, N, sums);
    }
}
#define MULTIPLY_ADD(N, Sum)                                                                       \
    template void multiply_add<N>(Sum *, const Sum *, const Sum *, int, int);
MULTIPLY_ADD(8, float)
MULTIPLY_ADD(16, float)
MULTIPLY_ADD(32, float)
MULTIPLY_ADD(8, std::int64_t)
MULTIPLY_ADD(16, std::int64_t)
MULTIPLY_ADD(32, std::int64_t)
MULTIPLY_ADD(8, double)

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
