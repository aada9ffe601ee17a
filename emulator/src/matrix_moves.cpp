// ldmatrix and stmatrix: a warp moves up to four 8x8 matrices of 16-bit elements between shared
// memory and registers. (PTX ISA: ldmatrix, stmatrix.)
#include "machine.h"
#include "multiply.h"
#include "emulator/tensor_core.h"
#include "emulator/warp.h"

#include <cstring>
#include <utility>

namespace emulator {

namespace {

constexpr int ROWS = 8; // of a matrix; as many columns
constexpr std::uint32_t ROW_BYTES = 16;
constexpr int MOST_MATRICES = 4;

// What a lane passes.
struct Move {
    int matrices;
    bool transposed;
    Site site;
    std::uint32_t registers[MOST_MATRICES] = {};
    Cta *cta = current->cta;
    std::uint32_t row = 0; // offset in shared memory; of the lanes that pass an address
};

struct Matrix {
    std::uint16_t elements[ROWS][ROWS];

    void *row(int number) { return elements[number]; }
    void *register_of(int lane) {
        return register_at(reinterpret_cast<std::uint8_t *>(elements), ROW_BYTES, lane);
    }
    void transpose() {
        for (int row = 0; row < ROWS; ++row)
            for (int column = 0; column < row; ++column)
                std::swap(elements[row][column], elements[column][row]);
    }
};

Move &move_of(void **arguments, int lane) { return *static_cast<Move *>(arguments[lane]); }

unsigned char *row_of(void **arguments, int matrix, int row) {
    const Move &move = move_of(arguments, matrix * ROWS + row);
    return move.cta->shared.generic(move.row, ROW_BYTES);
}

void count_rows(void **arguments, bool is_write) {
    const Move &first = move_of(arguments, 0);
    std::uint32_t rows[WARP_LANES];
    for (int lane = 0; lane < WARP_LANES; ++lane)
        rows[lane] = move_of(arguments, lane).row;
    count_matrix_access(rows, first.matrices, is_write, first.site);
}

void load_all(void **arguments) {
    const Move &first = move_of(arguments, 0);
    count_rows(arguments, false);
    for (int i = 0; i < first.matrices; ++i) {
        Matrix matrix;
        for (int row = 0; row < ROWS; ++row)
            std::memcpy(matrix.row(row), row_of(arguments, i, row), ROW_BYTES);
        if (first.transposed)
            matrix.transpose();
        for (int lane = 0; lane < WARP_LANES; ++lane)
            std::memcpy(&move_of(arguments, lane).registers[i], matrix.register_of(lane), 4);
    }
}

void store_all(void **arguments) {
    const Move &first = move_of(arguments, 0);
    count_rows(arguments, true);
    for (int i = 0; i < first.matrices; ++i) {
        Matrix matrix;
        for (int lane = 0; lane < WARP_LANES; ++lane)
            std::memcpy(matrix.register_of(lane), &move_of(arguments, lane).registers[i], 4);
        if (first.transposed)
            matrix.transpose();
        for (int row = 0; row < ROWS; ++row)
            std::memcpy(row_of(arguments, i, row), matrix.row(row), ROW_BYTES);
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
void move_together(Move &move, const void *row, bool is_write) {
    const char *name = name_of_form(is_write, move.matrices, move.transposed);
    if (current->lane() < move.matrices * ROWS) {
        move.row = shared_offset(row, move.site);
        if (move.row % ROW_BYTES != 0)
            fail(Mistake::MISUSE,
                 format("%s: the row at shared address 0x%x is not 16-byte aligned", name,
                        SHARED_BASE + move.row),
                 move.site, "passed it here");
        access_shared(*move.cta, move.row, ROW_BYTES, {is_write, move.site});
    }
    warp_together(name, &move, is_write ? store_all : load_all, move.site);
}

} // namespace

void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, const void *row,
              Site where) {
    Move move{matrices, transposed, where};
    move_together(move, row, false);
    std::copy_n(move.registers, matrices, registers);
}

void stmatrix(void *row, const std::uint32_t *registers, int matrices, bool transposed,
              Site where) {
    Move move{matrices, transposed, where};
    std::copy_n(registers, matrices, move.registers);
    move_together(move, row, true);
}

} // namespace emulator
