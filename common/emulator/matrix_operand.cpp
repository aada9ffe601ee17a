#include "emulator/matrix_operand.h"

#include "emulator/copy.h"
#include "emulator/half.h"
#include "emulator/machine.h"
#include "emulator/tensor_box.h"

#include <bit>

namespace emulator {

namespace {

constexpr std::uint32_t GROUP_ROWS = 8;
constexpr std::uint32_t CHUNKS = 2; // of 16 bytes in 16 columns
constexpr int CHUNK_COLUMNS = 8;
constexpr int SWIZZLE = 3; // CU_TENSOR_MAP_SWIZZLE_128B: the only layout that is modelled
constexpr std::uint32_t SPAN = swizzle_span(SWIZZLE);
constexpr std::uint32_t PATTERN = GROUP_ROWS * SPAN;

std::uint32_t field(std::uint64_t descriptor, int first, int bits) {
    return std::uint32_t(descriptor >> first) & ((1u << bits) - 1);
}

[[noreturn]] void reject(char name, std::uint64_t descriptor, const std::string &why, Site where) {
    fail(Mistake::MISUSE,
         format("wgmma: the descriptor of %c, 0x%016llx, %s", name, (unsigned long long)descriptor,
                why.c_str()),
         where, "called wgmma here");
}

// Offset in shared memory of a row's chunk.
std::uint32_t chunk_offset(const MatrixOperand &operand, std::uint32_t row, std::uint32_t chunk) {
    const std::uint32_t address = operand.start + row / GROUP_ROWS * operand.stride +
                                  row % GROUP_ROWS * SPAN + chunk * SWIZZLE_CHUNK;
    return swizzle_address(address, SWIZZLE) - SHARED_BASE;
}

} // namespace

MatrixOperand decode_operand(const Cta &cta, char name, std::uint64_t descriptor, int rows,
                             Site where) {
    MatrixOperand operand{};
    operand.start = field(descriptor, 0, 14) << 4;
    operand.stride = field(descriptor, 32, 14) << 4;
    operand.rows = rows;
    operand.name = name;

    if (descriptor >> 62 != 1)
        reject(name, descriptor, "has another layout than the 128-byte swizzle: not modelled",
               where);
    if (field(descriptor, 49, 3) != 0)
        reject(name, descriptor, "has a base offset, which is not modelled", where);
    if (operand.start % PATTERN + CHUNKS * SWIZZLE_CHUNK > SPAN)
        reject(name, descriptor,
               format("starts at 0x%x: its 16 columns are not in the first row of a swizzle "
                      "pattern of %u bytes",
                      operand.start, PATTERN),
               where);
    const std::uint64_t groups = (std::uint32_t(rows) + GROUP_ROWS - 1) / GROUP_ROWS;
    const std::uint64_t end =
        operand.start - operand.start % PATTERN + (groups - 1) * operand.stride + PATTERN;
    if (operand.start < SHARED_BASE || end > SHARED_BASE + cta.shared.size())
        reject(name, descriptor,
               format("spans shared addresses 0x%x to 0x%llx, outside of the CTA's memory",
                      operand.start, (unsigned long long)end),
               where);
    return operand;
}

std::uint64_t check_operand(Cta &cta, const MatrixOperand &operand, Site where) {
    const char *reader = operand.name == 'A' ? "wgmma (its A)" : "wgmma (its B)";
    std::uint64_t fingerprint = 0;
    for (std::uint32_t row = 0; row < std::uint32_t(operand.rows); ++row)
        for (std::uint32_t chunk = 0; chunk < CHUNKS; ++chunk) {
            const std::uint32_t offset = chunk_offset(operand, row, chunk);
            cta.shared.check_published(offset, SWIZZLE_CHUNK, reader, where);
            std::uint64_t words[2];
            copy_bytes(words, cta.shared.async(offset, SWIZZLE_CHUNK), SWIZZLE_CHUNK);
            for (const std::uint64_t word : words)
                fingerprint = std::rotl(fingerprint ^ word, 29) * 0x9e3779b97f4a7c15;
        }
    return fingerprint;
}

void read_operand(Cta &cta, const MatrixOperand &operand, float *values, int row_step,
                  int column_step) {
    for (int row = 0; row < operand.rows; ++row)
        for (std::uint32_t chunk = 0; chunk < CHUNKS; ++chunk) {
            const std::uint32_t offset = chunk_offset(operand, std::uint32_t(row), chunk);
            races::read(cta.shared.generic(offset, SWIZZLE_CHUNK), SWIZZLE_CHUNK);
            const auto *bits =
                reinterpret_cast<const std::uint16_t *>(cta.shared.async(offset, SWIZZLE_CHUNK));
            float *to = values + row * row_step + int(chunk) * CHUNK_COLUMNS * column_step;
            for (int i = 0; i < CHUNK_COLUMNS; ++i)
                to[i * column_step] = float_of_bf16(bits[i]);
        }
}

} // namespace emulator
