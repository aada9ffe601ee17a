// ldmatrix and stmatrix: a warp moves up to four 8x8 matrices of 16-bit elements between shared
// memory and registers. (PTX ISA: ldmatrix, stmatrix.)
#include "accesses.h"
#include "machine.h"
#include "emulator/tensor_core.h"
#include "emulator/warp.h"

#include <cstring>

namespace emulator {

namespace {

constexpr int ROWS = 8; // of a matrix; as many columns
constexpr std::uint32_t ROW_BYTES = 16;
constexpr int MOST_MATRICES = 4;

// What a lane passes.
struct Move {
    const Thread *thread;
    std::uint32_t *loaded;       // registers of ldmatrix
    const std::uint32_t *stored; // and of stmatrix
    std::uint32_t row;           // offset in shared memory; of the lanes that pass an address
    int matrices;
    bool transposed;
    Site site;
};

using Matrix = std::uint16_t[ROWS][ROWS];

const Move &move_of(void **arguments, int lane) {
    return *static_cast<const Move *>(arguments[lane]);
}

unsigned char *row_of(void **arguments, int matrix, int row) {
    const Move &move = move_of(arguments, matrix * ROWS + row);
    return move.thread->cta->shared.generic(move.row, ROW_BYTES);
}

// The element that a lane holds in the lower (0) or upper (1) half of its register: two neighbours
// of row lane / 4, or of that column.
std::uint16_t &element(Matrix &matrix, int lane, int half, bool transposed) {
    const int major = lane / 4;
    const int minor = lane % 4 * 2 + half;
    return transposed ? matrix[minor][major] : matrix[major][minor];
}

void count_rows(void **arguments, bool is_write) {
    const Move &first = move_of(arguments, 0);
    std::uint32_t rows[WARP_LANES];
    for (int lane = 0; lane < first.matrices * ROWS; ++lane)
        rows[lane] = move_of(arguments, lane).row;
    count_matrix_access(rows, first.matrices, is_write, first.site);
}

void load_all(void **arguments) {
    const Move &first = move_of(arguments, 0);
    count_rows(arguments, false);
    for (int i = 0; i < first.matrices; ++i) {
        Matrix matrix;
        for (int row = 0; row < ROWS; ++row)
            std::memcpy(matrix[row], row_of(arguments, i, row), ROW_BYTES);
        for (int lane = 0; lane < WARP_LANES; ++lane)
            move_of(arguments, lane).loaded[i] =
                element(matrix, lane, 0, first.transposed) |
                std::uint32_t(element(matrix, lane, 1, first.transposed)) << 16;
    }
}

void store_all(void **arguments) {
    const Move &first = move_of(arguments, 0);
    count_rows(arguments, true);
    for (int i = 0; i < first.matrices; ++i) {
        Matrix matrix;
        for (int lane = 0; lane < WARP_LANES; ++lane) {
            const std::uint32_t packed = move_of(arguments, lane).stored[i];
            element(matrix, lane, 0, first.transposed) = std::uint16_t(packed);
            element(matrix, lane, 1, first.transposed) = std::uint16_t(packed >> 16);
        }
        for (int row = 0; row < ROWS; ++row)
            std::memcpy(row_of(arguments, i, row), matrix[row], ROW_BYTES);
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

bool passes_address(const Move &move) { return move.thread->lane() < move.matrices * ROWS; }

// Checks the calling lane's row and moves; the lanes without an address pass anything.
void move_together(Move &move, const void *row, bool is_write, void (*work)(void **)) {
    const int matrices = move.matrices;
    const bool known = matrices == 1 || matrices == 2 || matrices == MOST_MATRICES;
    if (!known)
        fail(Mistake::MISUSE, format("ldmatrix or stmatrix of %d matrices: 1, 2 or 4", matrices),
             {note_at(*move.thread, move.site, "called it here")});
    const char *name = name_of_form(is_write, matrices, move.transposed);
    if (passes_address(move)) {
        const std::uint32_t address = shared_address(row, move.site);
        if (address % ROW_BYTES != 0)
            fail(Mistake::MISUSE,
                 format("%s: the row at shared address 0x%x is not 16-byte aligned", name, address),
                 {note_at(*move.thread, move.site, "passed it here")});
        move.row = address - SHARED_BASE;
        access_shared(*move.thread->cta, move.row, ROW_BYTES, {is_write, move.site});
    }
    warp_together(name, &move, work, move.site);
}

} // namespace

void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, const void *row,
              Site where) {
    Move move{current, registers, nullptr, 0, matrices, transposed, where};
    move_together(move, row, false, load_all);
}

void stmatrix(void *row, const std::uint32_t *registers, int matrices, bool transposed,
              Site where) {
    Move move{current, nullptr, registers, 0, matrices, transposed, where};
    move_together(move, row, true, store_all);
}

} // namespace emulator
