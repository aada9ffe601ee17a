// The descriptors of wgmma's operands (accumulators.h).
#include "machine.h"
#include "strictness.h"

#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

constexpr std::uint32_t GROUP_LINES = 8;
constexpr std::uint32_t COLUMNS = 16;
constexpr std::uint32_t CHUNK_ELEMENTS = 8;

std::uint32_t field(std::uint64_t descriptor, int first, int bits) {
    return std::uint32_t(descriptor >> first) & ((1u << bits) - 1);
}

[[noreturn]] void reject(const MatrixOperand &operand, const std::string &why, Site where) {
    fail(Mistake::MISUSE,
         format("wgmma: the descriptor of %c, 0x%016llx, %s", operand.name,
                (unsigned long long)operand.descriptor, why.c_str()),
         where, "called wgmma here");
}

// The layouts of the descriptor's upper two bits, as in CUtensorMapSwizzle.
constexpr int SWIZZLES[] = {0, 3, 2, 1};

// The 16-byte chunks of a K-major row or an MN-major column, and how they lie.
void lay_out(MatrixOperand &operand, std::uint32_t rows, std::uint32_t leading,
             std::uint32_t stride) {
    const bool swizzled = operand.swizzle != 0, transposed = operand.transposed;
    operand.lines = transposed ? COLUMNS : rows;
    operand.chunks = (transposed ? rows : COLUMNS) / CHUNK_ELEMENTS;
    operand.span_bits = transposed ? operand.swizzle : swizzled;
    operand.line_jump = stride;
    operand.chunk_jump = leading;
    if (transposed && !swizzled)
        std::swap(operand.line_jump, operand.chunk_jump);
}

// A swizzle's pattern repeats from the address that is a multiple of its size: the operand begins
// in the pattern's first line, and what lies side by side there stays in it.
void check_start(const MatrixOperand &operand, Site where) {
    const std::uint32_t span = swizzle_span(operand.swizzle);
    const std::uint32_t pattern = GROUP_LINES * span;
    const std::uint32_t side_by_side =
        std::min(operand.chunks, 1u << operand.span_bits) * SWIZZLE_CHUNK;
    if (operand.swizzle != 0 && operand.start % pattern + side_by_side > span)
        reject(operand,
               format("starts at 0x%x: its %s are not in the first row of a swizzle pattern of %u "
                      "bytes%s",
                      operand.start, operand.transposed ? "rows" : "32 bytes of K", pattern,
                      hint_on_alignment().c_str()),
               where);
}

void check_inside(const MatrixOperand &operand, Site where) {
    const std::uint64_t groups = (operand.lines + GROUP_LINES - 1) / GROUP_LINES;
    const std::uint64_t spans = ((operand.chunks - 1) >> operand.span_bits) + 1;
    const std::uint64_t part = GROUP_LINES * swizzle_span(operand.swizzle);
    const std::uint32_t begin =
        operand.start - (operand.swizzle != 0 ? operand.start % std::uint32_t(part) : 0);
    const std::uint64_t end =
        begin + (groups - 1) * operand.line_jump + (spans - 1) * operand.chunk_jump + part;
    if (operand.start < SHARED_BASE || end > SHARED_BASE + current->cta->shared.size())
        reject(operand,
               format("spans shared addresses 0x%x to 0x%llx, outside of the CTA's memory",
                      operand.start, (unsigned long long)end),
               where);
}

} // namespace

void decode_operand(MatrixOperand &operand, std::uint32_t rows, Site where) {
    const std::uint64_t descriptor = operand.descriptor;
    operand.start = field(descriptor, 0, 14) << 4;
    operand.swizzle = SWIZZLES[descriptor >> 62];
    lay_out(operand, rows, field(descriptor, 16, 14) << 4, field(descriptor, 32, 14) << 4);
    if (field(descriptor, 49, 3) != 0)
        reject(operand, "has a base offset, which is not modelled", where);
    check_start(operand, where);
    check_inside(operand, where);
}

void read_operand(Cta &cta, const MatrixOperand &operand, std::uint8_t *bytes, Site where) {
    static std::vector<std::uint32_t> offsets;
    offsets.clear();
    for (std::uint32_t line = 0; line < operand.lines; ++line)
        for (std::uint32_t chunk = 0; chunk < operand.chunks; ++chunk)
            offsets.push_back(operand.address(line, chunk) - SHARED_BASE);
    access_shared_chunks(cta, offsets, {false, where});
    for (const std::uint32_t offset : offsets) {
        std::memcpy(bytes, cta.shared.generic(offset, SWIZZLE_CHUNK), SWIZZLE_CHUNK);
        bytes += SWIZZLE_CHUNK;
    }
}

} // namespace emulator
