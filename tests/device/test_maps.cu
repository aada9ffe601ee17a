// The maps that the device headers compute, against their definitions: swizzle, matrix descriptor,
// accumulator fragment, and the banks of shared memory that they meet. Host code alone, which only
// nvcc can compile: it needs no GPU.
#include "../unit/test.h"
#include "device/fragment.cuh"
#include "device/swizzle.cuh"
#include "device/wgmma.cuh"
#include "fragment_map.h"

#include <algorithm>
#include <vector>

constexpr int BANKS = 32;                             // of 4 bytes
constexpr int CHUNK_COLUMNS = 16 / int(sizeof(bf16)); // what the swizzle moves together

static int swizzled_byte(int row, int column) {
    return swizzle_128b(row, column) * int(sizeof(bf16));
}

// Bits 4 to 6 of the byte offset, xored with bits 7 to 9. Each offset is hit once.
static void swizzle_definition() {
    for (int rows : {8, 64, 128, 256}) {
        std::vector<int> hits(rows * SWIZZLE_COLUMNS);
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < SWIZZLE_COLUMNS; ++column) {
                const int plain = row * SWIZZLE_BYTES + column * int(sizeof(bf16));
                const int expected = plain ^ ((plain >> 7 & 7) << 4);
                const int got = swizzled_byte(row, column);
                EXPECT(got == expected, "(%d, %d) is at byte %d, not %d", row, column, got,
                       expected);
                ++hits[swizzle_128b(row, column)];
            }
        EXPECT(std::count(hits.begin(), hits.end(), 1) == long(hits.size()), "a tile of %d rows",
               rows);
    }
}

// Whether accesses of `bytes` bytes at these offsets meet each bank once: then there is no
// conflict.
static bool all_banks_once(const std::vector<int> &offsets, int bytes) {
    int hits[BANKS] = {};
    for (int offset : offsets)
        for (int byte = 0; byte < bytes; byte += 4)
            ++hits[(offset + byte) / 4 % BANKS];
    return std::count(hits, hits + BANKS, 1) == BANKS;
}

// A tile of words lies as one of twice as many bf16 does.
static void swizzled_words() {
    for (int row = 0; row < 64; ++row)
        for (int column = 0; column < SWIZZLE_BYTES / 4; ++column) {
            const int got = swizzle_128b<float>(row, column) * int(sizeof(float));
            EXPECT(got == swizzled_byte(row, 2 * column), "(%d, %d) is at byte %d", row, column,
                   got);
        }
}

// What a swizzle is for: accesses of a warp to a tile of 64 rows, by groups of `lanes` that go to
// the banks at once, for each 8 rows from `first` and the columns from `block` on.
struct TileAccess {
    int lanes, bytes, columns; // columns: from one block to the next
    int (*row)(int lane), (*column)(int lane);
};

template <const TileAccess &ACCESS>
static void meets_all_banks() {
    for (int first = 0; first + ACCESS.row(31) < 64; first += 8)
        for (int block = 0; block < SWIZZLE_COLUMNS; block += ACCESS.columns)
            for (int lane = 0; lane < 32; lane += ACCESS.lanes) {
                std::vector<int> offsets;
                for (int i = lane; i < lane + ACCESS.lanes; ++i)
                    offsets.push_back(
                        swizzled_byte(first + ACCESS.row(i), block + ACCESS.column(i)));
                EXPECT(all_banks_once(offsets, ACCESS.bytes), "row %d, column %d, lane %d", first,
                       block, lane);
            }
}

// The same chunk of eight rows.
static constexpr TileAccess CHUNKS = {8, 16, 32, [](int lane) { return lane % 8; },
                                      [](int lane) { return lane / 8 * CHUNK_COLUMNS; }};
// A warp that writes its fragments with 4-byte stores.
static constexpr TileAccess PAIRS = {32, 4, 8, [](int lane) { return lane / 4; },
                                     [](int lane) { return lane % 4 * 2; }};
// The same with stmatrix, 16 rows and two chunks: it takes the rows of eight lanes at a time.
static constexpr TileAccess STMATRIX = {8, 16, 16, [](int lane) { return lane % 16; },
                                        [](int lane) { return lane / 16 * 8; }};

// Whether eight rows of so many chunks of 16 bytes, one behind the other, meet all banks once where
// they have the same chunk.
static bool dense_rows_fit(int chunks) {
    for (int first = 0; first < 64; first += 8)
        for (int chunk = 0; chunk < chunks; ++chunk) {
            std::vector<int> offsets;
            for (int row = first; row < first + 8; ++row)
                offsets.push_back((row * chunks + chunk) * 16);
            if (!all_banks_once(offsets, 16))
                return false;
        }
    return true;
}

// Without a swizzle stmatrix needs rows of an odd number of chunks: 200 columns are 25.
static void dense_rows() {
    for (int chunks = 1; chunks <= 32; ++chunks)
        EXPECT(dense_rows_fit(chunks) == (chunks % 2 == 1), "rows of %d chunks", chunks);
    EXPECT(dense_rows_fit(200 / CHUNK_COLUMNS), "rows of 200 columns");
}

// Bits `first` to `last` of a descriptor.
static uint64_t field(uint64_t descriptor, int first, int last) {
    return descriptor >> first & ((uint64_t(1) << (last - first + 1)) - 1);
}

static void descriptor_fields() {
    for (uint32_t address = 0; address < 227 * 1024; address += 1024)
        for (uint32_t step = 0; step < 4; ++step) { // of 16 columns along k: 32 bytes
            const uint64_t d = descriptor_of_address(address + step * 32);
            EXPECT(field(d, 0, 13) == (address >> 4) + step * 2, "start of %u, step %u: %llu",
                   address, step, (unsigned long long)field(d, 0, 13));
            EXPECT(field(d, 32, 45) == 1024 >> 4, "stride of %u", address);
            EXPECT(field(d, 49, 51) == 0, "base offset of %u", address);
            EXPECT(field(d, 62, 63) == 1, "layout of %u", address);
            const uint64_t rest =
                field(d, 14, 15) | field(d, 30, 31) | field(d, 46, 48) | field(d, 52, 61);
            EXPECT(rest == 0, "unused bits of %u: %llx", address, (unsigned long long)d);
        }
}

static void fragment_covers() {
    for (int n : {64, 128, 256}) {
        std::vector<int> hits(64 * n);
        for (int thread = 0; thread < WARPGROUP_THREADS; ++thread)
            for (int i = 0; i < n / 2; ++i)
                ++hits[fragment_row(thread, i) * n + fragment_column(thread, i)];
        EXPECT(std::count(hits.begin(), hits.end(), 1) == 64 * n, "N = %d", n);
    }
}

// Four lanes hold a row's 16 columns before the exchange, two pairs each, and after it, four side
// by side: 32 bytes that lie side by side. A lane keeps a pair of its own.
static void exchange_covers() {
    for (int quad = 0; quad < 32; quad += 4) {
        int hits[16] = {};
        for (int lane = quad; lane < quad + 4; ++lane) {
            const int column = fragment_row_column(lane);
            const int left = fragment_column(lane, 0);
            const int kept = lane % 2 ? fragment_column(lane, 4) : left;
            EXPECT(column % 4 == 0 && column >= 0 && column <= 12, "lane %d: %d", lane, column);
            EXPECT(kept >= column && kept < column + 4, "lane %d stores %d, holds %d", lane, column,
                   kept);
            for (int i = 0; i < 4; ++i)
                ++hits[(column + i) % 16];
        }
        EXPECT(std::count(hits, hits + 16, 1) == 16, "lanes %d to %d", quad, quad + 3);
    }
}

int main() {
    run_case("swizzle: the definition on byte addresses, one to one", swizzle_definition);
    run_case("swizzle: words of fp32", swizzled_words);
    run_case("swizzle: a chunk of eight rows meets all banks once", meets_all_banks<CHUNKS>);
    run_case("swizzle: 4-byte stores of fragments meet all banks once", meets_all_banks<PAIRS>);
    run_case("swizzle: stmatrix meets all banks once", meets_all_banks<STMATRIX>);
    run_case("dense rows of an odd number of chunks: stmatrix meets all banks once", dense_rows);
    run_case("descriptor: its fields", descriptor_fields);
    run_case("wgmma fragment: every element of D once", fragment_covers);
    run_case("fragment exchange: every column once, a lane's side by side", exchange_covers);
    return test_result();
}
