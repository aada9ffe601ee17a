// ldmatrix and stmatrix: a warp moves up to four 8x8 matrices of 16-bit elements between shared
// memory and registers. (PTX ISA: ldmatrix, stmatrix.)
#include "machine.h"
#include "emulator/warp.h"

#include <cstring>

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
void move_together(Move &move, const void *row, bool is_write) {
    const char *name = name_of_form(is_write, move.matrices, move.transposed);
    if (current->lane() < move.matrices * ROWS) {
        move.row = SharedRef(row, move.site).offset;
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

void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, const void *row,
              Site where) {
    Move move{matrices, transposed, where};
    move_together(move, row, false);
    std::memcpy(registers, move.registers, std::size_t(matrices) * sizeof *registers);
}

void stmatrix(void *row, const std::uint32_t *registers, int matrices, bool transposed,
              Site where) {
    Move move{matrices, transposed, where};
    std::memcpy(move.registers, registers, std::size_t(matrices) * sizeof *registers);
    move_together(move, row, true);
}

} // namespace emulator
