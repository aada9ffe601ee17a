// The descriptors of wgmma's operands (accumulators.h).
//
// An operand has K_BYTES of K for each row of A or column of B, in 16-byte chunks. Lines of chunks
// are rows (of A, or columns of B) if the operand is K-major, with 2 chunks each, and the 16
// columns of K if it is MN-major (transposed), with one chunk for 8 rows. The parts of eight lines
// and of `span` bytes of each are contiguous, and swizzled. (PTX ISA: wgmma, Matrix Descriptor
// Format; Strides; Canonical Layouts.)
#include "machine.h"

#include <algorithm>
#include <utility>

namespace emulator {

namespace {

constexpr std::uint32_t GROUP_LINES = 8;
constexpr std::uint32_t COLUMNS = 16;
constexpr std::uint32_t CHUNK_ELEMENTS = 8;
constexpr int SWIZZLES[] = {0, 3, 2, 1}; // the upper two bits, as in CUtensorMapSwizzle

struct Descriptor {
    char name; // 'A' or 'B'
    std::uint64_t bits;
    Site where;

    std::uint32_t field(int first, int size) const {
        return std::uint32_t(bits >> first) & ((1u << size) - 1);
    }
    [[noreturn]] void reject(const std::string &why) const {
        fail(Mistake::MISUSE, where, "called wgmma here",
             "wgmma: the descriptor of %c, 0x%016llx, %s", name, (unsigned long long)bits,
             why.c_str());
    }
};

// A swizzle's pattern repeats from the address that is a multiple of its size: the operand begins
// in the pattern's first line, and the chunks that lie side by side there stay in it.
void check_start(const Descriptor &descriptor, std::uint32_t start, std::uint32_t span,
                 std::uint32_t side_by_side, bool transposed) {
    const std::uint32_t pattern = GROUP_LINES * span;
    if (start % pattern + side_by_side * SWIZZLE_CHUNK > span)
        descriptor.reject(format(
            "starts at 0x%x: its %s are not in the first row of a swizzle pattern of %u "
            "bytes%s",
            start, transposed ? "rows" : "32 bytes of K", pattern, hint_on_alignment().c_str()));
}

} // namespace

std::vector<std::uint32_t> chunks_of_operand(char name, std::uint64_t bits, bool transposed,
                                             std::uint32_t rows, Site where) {
    const Descriptor descriptor{name, bits, where};
    const std::uint32_t start = descriptor.field(0, 14) << 4;
    const int swizzle = SWIZZLES[bits >> 62];
    if (descriptor.field(49, 3) != 0)
        descriptor.reject("has a base offset, which is not modelled");

    const std::uint32_t lines = transposed ? COLUMNS : rows;
    const std::uint32_t chunks = (transposed ? rows : COLUMNS) / CHUNK_ELEMENTS; // of a line
    const std::uint32_t in_span = 1u << (transposed ? swizzle : swizzle != 0);   // chunks
    // Bytes from a span to the next one in a line, and from eight lines to the next eight.
    std::uint32_t chunk_jump = descriptor.field(16, 14) << 4;
    std::uint32_t line_jump = descriptor.field(32, 14) << 4;
    if (transposed && swizzle == 0)
        std::swap(chunk_jump, line_jump);

    const std::uint32_t span = swizzle_span(swizzle), pattern = GROUP_LINES * span;
    const std::uint32_t in_pattern = swizzle != 0 ? start % pattern : 0;
    if (swizzle != 0)
        check_start(descriptor, start, span, std::min(chunks, in_span), transposed);
    const std::uint64_t last_line = (lines - 1) / GROUP_LINES, last_span = (chunks - 1) / in_span;
    const std::uint64_t end =
        start - in_pattern + last_line * line_jump + last_span * chunk_jump + pattern;
    if (start < SHARED_BASE || end > SHARED_BASE + current->cta->shared.size())
        descriptor.reject(
            format("spans shared addresses 0x%x to 0x%llx, outside of the CTA's memory", start,
                   (unsigned long long)end));

    std::vector<std::uint32_t> offsets;
    offsets.reserve(lines * chunks);
    for (std::uint32_t line = 0; line < lines; ++line)
        for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
            const std::uint32_t group = line / GROUP_LINES * line_jump + line % GROUP_LINES * span;
            const std::uint32_t part = chunk / in_span * chunk_jump;
            const std::uint32_t address = start + group + part + chunk % in_span * SWIZZLE_CHUNK;
            offsets.push_back(swizzle_address(address, swizzle) - SHARED_BASE);
        }
    return offsets;
}

} // namespace emulator
