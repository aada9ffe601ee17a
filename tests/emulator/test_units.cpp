// wgmma, the matrix moves, cp.async and the 16-bit formats: what tests/device/ cannot ask, as it
// uses the device headers alone and has to be right on a GPU too. The TMA is in test_tma.cpp.
#include "units.h"

#include "emulator/cp_async.h"
#include "emulator/half.h"
#include "emulator/tensor_core.h"

#include <cmath>

// ---------------------------------------------------------------------------------------- wgmma

constexpr int WARPGROUP = 128;
constexpr int ROWS = 64; // of A and D
constexpr int LARGEST_N = 256;
constexpr std::size_t A_TILE = 0; // offsets in shared memory
constexpr std::size_t B_TILE = 8192;
constexpr std::size_t SHARED = 49152; // bytes

static int fragment_row(int thread, int i) {
    return thread / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
}
static int fragment_column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

// Rows of 32, 64 or 128 bytes for swizzles 1, 2 and 3; as many columns of 16 bits are a tile's.
static int columns_of(int swizzle) { return 8 << swizzle; }

// Where element (row, column) of a tile stands, in bytes from its start.
static std::size_t place_of(int row, int column, int swizzle) {
    const std::size_t byte =
        std::size_t(row) * 2 * std::size_t(columns_of(swizzle)) + 2 * std::size_t(column);
    return byte ^ (byte / 128 % std::size_t(1 << swizzle)) * 16;
}

static std::uint64_t descriptor(std::size_t tile, int k, int swizzle) {
    const std::uint64_t start =
        shared_address(shared_at<unsigned char>(tile), here()) + std::uint64_t(k) * 2;
    const std::uint64_t stride = 8 * 2 * std::uint64_t(columns_of(swizzle));
    return start >> 4 | std::uint64_t(1) << 16 | (stride >> 4) << 32 |
           std::uint64_t(4 - swizzle) << 62;
}

// The calling threads write a matrix of bf16 to a swizzled tile, and fence it.
static void write_tile(std::size_t tile, const float *matrix, int rows, int swizzle) {
    const int columns = columns_of(swizzle);
    for (int i = thread_number(); i < rows * columns; i += WARPGROUP) {
        const std::size_t place = tile + place_of(i / columns, i % columns, swizzle);
        *shared_at<std::uint16_t>(place) = bf16_of_float(matrix[i]);
    }
    current->cta->shared.publish(*current);
}

struct Product {
    int n;
    int swizzle;
    const float *a, *b; // [64][columns_of(swizzle)], [n][...]
    float *d;           // [64][n]
};

static void multiply_kernel(const Product &product) {
    write_tile(A_TILE, product.a, ROWS, product.swizzle);
    write_tile(B_TILE, product.b, product.n, product.swizzle);
    syncthreads(here());
    float acc[LARGEST_N / 2];
    wgmma_fence(here());
    for (int k = 0; k < columns_of(product.swizzle); k += 16)
        wgmma(acc, product.n, descriptor(A_TILE, k, product.swizzle),
              descriptor(B_TILE, k, product.swizzle), k > 0, here());
    wgmma_commit(here());
    wgmma_wait(0, here());
    for (int i = 0; i < product.n / 2; ++i)
        product
            .d[fragment_row(thread_number(), i) * product.n + fragment_column(thread_number(), i)] =
            acc[i];
}

static void expect_product(int n, int swizzle, Global<float> &a, Global<float> &b) {
    const int columns = columns_of(swizzle);
    Global<float> d(std::size_t(ROWS * n), -1);
    const Product product = {n, swizzle, a.data, b.data, d.data};
    run_kernel(1, WARPGROUP, SHARED, [product] { multiply_kernel(product); });
    for (int i = 0; i < ROWS * n; ++i) {
        float sum = 0;
        for (int k = 0; k < columns; ++k)
            sum += a[std::size_t(i / n * columns + k)] * b[std::size_t(i % n * columns + k)];
        EXPECT(d[std::size_t(i)] == sum, "n = %d, swizzle %d: [%d][%d] is %g, not %g", n, swizzle,
               i / n, i % n, double(d[std::size_t(i)]), double(sum));
    }
    EXPECT(counts.wgmmas == std::uint64_t(columns / 16) &&
               counts.multiply_adds == std::uint64_t(ROWS * n * columns),
           "%llu wgmmas", (unsigned long long)counts.wgmmas);
}

// Small integers, whose sums are exact in any order.
static float integer(int i, int salt) { return float((i * 37 + i / 11 + salt) % 7 - 3); }

static void wgmma_integers() {
    for (int n : {8, 64, 128, 256})
        for (int swizzle = 1; swizzle <= 3; ++swizzle) {
            Global<float> a(std::size_t(ROWS * columns_of(swizzle)), 0);
            Global<float> b(std::size_t(n * columns_of(swizzle)), 0);
            for (std::size_t i = 0; i < a.count; ++i)
                a[i] = integer(int(i), 1);
            for (std::size_t i = 0; i < b.count; ++i)
                b[i] = integer(int(i), 2);
            expect_product(n, swizzle, a, b);
        }
}

// What a kernel of one warpgroup does wrong.
enum WgmmaMistake {
    NO_FENCE,
    NO_SECOND_FENCE,
    OTHER_DESCRIPTOR,
    OTHER_ACCUMULATE,
    NO_SWIZZLE,
    MISALIGNED,
    OUTSIDE
};

static std::uint64_t wrong_descriptor(WgmmaMistake mistake, std::uint64_t a) {
    switch (mistake) {
    case OTHER_DESCRIPTOR:
        return a + (thread_number() == 77 ? 2 : 0);
    case NO_SWIZZLE:
        return a & ~(std::uint64_t(3) << 62);
    case MISALIGNED:
        return a + 128 / 16;
    case OUTSIDE:
        return a + (SHARED - 1024) / 16;
    default:
        return a;
    }
}

static void mistaken_kernel(WgmmaMistake mistake, float *out) {
    for (int i = thread_number(); i < 16384 / 4; i += WARPGROUP)
        *shared_at<std::uint32_t>(std::size_t(i) * 4) = 0;
    current->cta->shared.publish(*current);
    syncthreads(here());
    float acc[32] = {};
    if (mistake != NO_FENCE)
        wgmma_fence(here());
    const std::uint64_t a = wrong_descriptor(mistake, descriptor(A_TILE, 0, 3));
    const std::uint64_t b = descriptor(B_TILE, 0, 3);
    for (int step = 0; step < 2; ++step) {
        wgmma(acc, 64, a, b, mistake != OTHER_ACCUMULATE || thread_number() != 5, here());
        wgmma_commit(here());
        wgmma_wait(0, here());
        out[thread_number()] = acc[3];
        if (mistake != NO_SECOND_FENCE)
            wgmma_fence(here());
    }
}

static void run_mistaken(WgmmaMistake mistake) {
    Global<float> out(WARPGROUP, 0);
    float *to = out.data;
    run_kernel(1, WARPGROUP, SHARED, [=] { mistaken_kernel(mistake, to); });
}

// Every policy finds each.
static const struct WgmmaCase {
    const char *promise;
    WgmmaMistake mistake;
    const char *kind, *words;
} WGMMA_MISTAKES[] = {
    {"wgmma: the first fence is missing", NO_FENCE, "hazard", "wgmma_fence"},
    {"wgmma: a later fence is missing", NO_SECOND_FENCE, "hazard", "wgmma_fence"},
    {"wgmma: threads with different descriptors", OTHER_DESCRIPTOR, "misuse",
     "disagree about A's descriptor"},
    {"wgmma: threads that disagree to accumulate", OTHER_ACCUMULATE, "misuse",
     "disagree about whether to accumulate"},
    {"wgmma: a layout without swizzle", NO_SWIZZLE, "misuse", "not modelled"},
    {"wgmma: an operand that is not aligned", MISALIGNED, "misuse", "first row"},
    {"wgmma: an operand outside of shared memory", OUTSIDE, "misuse", "outside"},
};

static void wgmma_mistakes() {
    static const WgmmaCase *now;
    for (const WgmmaCase &one : WGMMA_MISTAKES) {
        now = &one;
        run_case(one.promise, [] {
            for (const std::string &name : fixed_policy_names())
                under_policy(name.c_str(), [] {
                    expect_mistake(now->kind, now->words, [] { run_mistaken(now->mistake); });
                });
        });
    }
}

// --------------------------------------------------------------------------------- matrix moves

// A generic-proxy write of the lane that named the row: nobody else's fence publishes it.
static void stmatrix_and_fence(bool all_fence) {
    const std::uint32_t registers[4] = {};
    stmatrix(shared_at<unsigned char>(std::size_t(thread_number()) * 16), registers, 4, false,
             here());
    if (all_fence || thread_number() == 0)
        current->cta->shared.publish(*current);
    syncthreads(here());
    current->cta->shared.check_published(0, 512, "TMA store", here());
}

static void stmatrix_proxy() {
    run_kernel(1, WARP_LANES, 1024, [] { stmatrix_and_fence(true); });
}

static void ldmatrix_at(std::size_t offset, int matrices) {
    std::uint32_t registers[4];
    ldmatrix(registers, matrices, false, shared_at<unsigned char>(offset), here());
}

static const std::vector<MistakeCase> MISTAKES = {
    {"ldmatrix: an address that is not aligned", "misuse", "16-byte aligned", 1, WARP_LANES,
     [] { ldmatrix_at(8, 4); }},
    {"ldmatrix: lanes that call different forms", "misuse", "diverged", 1, WARP_LANES,
     [] { ldmatrix_at(0, thread_number() == 3 ? 2 : 4); }},
    {"ldmatrix: an address outside of shared memory", "address", "", 1, WARP_LANES,
     [] {
         std::uint32_t registers[4];
         ldmatrix(registers, 4, false, registers, here());
     }},
    {"stmatrix: a write that its lane has not fenced", "hazard", "", 1, WARP_LANES,
     [] { stmatrix_and_fence(false); }},
};

// ------------------------------------------------------------------------------------- cp.async

static void copy_mistakes() {
    Global<unsigned char> in(72, 0);
    const unsigned char *from = in.data;
    const auto copy = [from](int to, int first, int bytes, int source_bytes) {
        run_kernel(1, 1, 1024, [=] {
            cp_async(shared_at<unsigned char>(0) + to, from + first, bytes, source_bytes, here());
            cp_async_commit(here());
            cp_async_wait(0, here());
        });
    };
    expect_mistake("misuse", "aligned", [=] { copy(8, 0, 16, 16); });
    expect_mistake("misuse", "aligned", [=] { copy(0, 8, 16, 16); });
    expect_mistake("misuse", "4, 8 or 16", [=] { copy(0, 0, 2, 2); });
    expect_mistake("misuse", "source", [=] { copy(0, 0, 4, 8); });
    expect_mistake("address", "", [=] { copy(0, 64, 16, 16); });
    expect_mistake("address", "", [=] { copy(1024, 0, 16, 16); });
    // Far from everything, whenever the copy happens.
    const auto far = [=] { copy(0, 1 << 30, 16, 16); };
    for (const char *policy : {"eager", "lazy"})
        expect_mistake(
            "address", "no memory of the kernel's", [=] { under_policy(policy, far); },
            "started the cp.async");
}

// ------------------------------------------------------------------------------ 16-bit formats

static void formats_round_trip() {
    for (int bits = 0; bits < 65536; ++bits) {
        const std::uint16_t in = std::uint16_t(bits);
        const bool half_nan = (bits & 0x7fff) > 0x7c00, bf16_nan = (bits & 0x7fff) > 0x7f80;
        const int half = half_of_float(float_of_half(in)), bf16 = bf16_of_float(float_of_bf16(in));
        EXPECT(half == (half_nan ? 0x7fff : bits), "fp16 0x%04x becomes 0x%04x", bits, half);
        EXPECT(bf16 == (bf16_nan ? 0x7fff : bits), "bf16 0x%04x becomes 0x%04x", bits, bf16);
        EXPECT(std::isnan(float_of_half(in)) == half_nan, "fp16 0x%04x", bits);
        EXPECT(std::isnan(float_of_bf16(in)) == bf16_nan, "bf16 0x%04x", bits);
    }
}

// Halfway between neighbours the even one is taken; a little to either side, the nearer one.
static void formats_rounding() {
    for (std::uint16_t sign : {std::uint16_t(0), std::uint16_t(0x8000)}) {
        for (int bits = 0; bits < 0x7bff; ++bits) {
            const std::uint16_t low = std::uint16_t(sign | bits), high = std::uint16_t(low + 1);
            const float halfway = (float_of_half(low) + float_of_half(high)) / 2;
            EXPECT(half_of_float(halfway) == (bits % 2 ? high : low), "fp16 above 0x%04x", low);
            EXPECT(half_of_float(std::nextafter(halfway, float_of_half(low))) == low,
                   "fp16 just above 0x%04x", low);
            EXPECT(half_of_float(std::nextafter(halfway, float_of_half(high))) == high,
                   "fp16 just below 0x%04x", high);
        }
        for (int bits = 0; bits < 0x7f7f; ++bits) {
            const std::uint16_t low = std::uint16_t(sign | bits), high = std::uint16_t(low + 1);
            const float halfway = std::bit_cast<float>(std::uint32_t(low) << 16 | 0x8000);
            EXPECT(bf16_of_float(halfway) == (bits % 2 ? high : low), "bf16 above 0x%04x", low);
            EXPECT(bf16_of_float(std::nextafter(halfway, 0.0f)) == low, "bf16 0x%04x", low);
        }
    }
}

int main() {
    run_case("wgmma: integers, every swizzle, against a plain loop", wgmma_integers);
    wgmma_mistakes();
    run_case("stmatrix: a write that its lane has to fence", stmatrix_proxy);
    run_case("cp.async: mistakes are reported", copy_mistakes);
    run_case("16-bit formats: all values there and back", formats_round_trip);
    run_case("16-bit formats: rounding to nearest, ties to even", formats_rounding);
    run_mistakes(MISTAKES);
    return test_result();
}
