// The probe of wgmma's e4m3 sums: random and telling vectors, each compared bit for bit with sums
// of whole numbers (e4m3_integers.h), on a GPU or on the emulator, which adds by e4m3.h.
//
//   test_e4m3 [--record FILE]
//
// --record writes what came out, right or wrong: a line for each of 128 sums
// of every case, with 32 bytes of A, 32 of B, the addend and the result, all hexadecimal.
// tests/unit/test_e4m3.c compares such files in bench/results/instructions with both. Without
// a GPU of compute capability 9.0 every case is skipped.
#include "e4m3_integers.h"
#include "product.cuh"

constexpr int M = 64;
constexpr int TILES = 64; // of a case: a CTA each
constexpr int K = INTEGERS_K;

static uint64_t state = 1; // xorshift: the same numbers everywhere

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return uint32_t((state >> 32) * below >> 32);
}

// What elements are drawn from, or exponents.
struct Range {
    int from, count;

    int drawn() const { return from + int(draw(count)); }
};
constexpr Range FINITE = {0, 127}, ALL_SIZES = {-34, 40};

enum Kind {
    PLAIN,
    CANCEL, // of two neighbours in A one is minus the other, and those in B are equal
    BITS,   // 1 and a power of two: how far below the largest term bits are kept
    SHARED, // the same in two parts, each too small: terms are cut off before they are added
    SPECIAL // NaNs, and infinite addends
};

static void record(const uint8_t *a, const uint8_t *b, float c, float d) {
    for (int i = 0; i < 2 * K; ++i)
        fprintf(recording, "%02x%s", i < K ? a[i] : b[i - K], i % K == K - 1 ? " " : "");
    fprintf(recording, "%08x %08x\n", bits_of_float(c), bits_of_float(d));
}

template <int N>
static void sums(Kind kind, Range elements, Range exponents) {
    const bool of_ones = kind == BITS || kind == SHARED;
    const auto element = [&](int) { return draw(2) << 7 | elements.drawn(); };
    auto a = each<uint8_t>(TILES * M * K, element), b = each<uint8_t>(TILES * N * K, element);
    const auto c = each<float>(TILES * M * N, [&](int) {
        const float numbers[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1.0f};
        const float sign = draw(2) ? 1.0f : -1.0f, size = of_ones ? 1.0f : float(draw(1 << 14));
        return kind == SPECIAL ? numbers[draw(6)] : sign * ldexpf(size, exponents.drawn());
    });
    for (size_t i = 0; i < a.size(); ++i) {
        if (kind == CANCEL && i % 2 == 1)
            a[i] = a[i - 1] ^ (draw(64) ? 0x80 : 0x81);
        if (kind == SPECIAL && draw(500) == 0)
            a[i] = uint8_t(0x7f | draw(2) << 7);
        if (of_ones) // 1, at most 1.75, and perhaps that again
            a[i] = i % K == 0   ? uint8_t(draw(2) << 7 | 0x38)
                   : i % K == 1 ? uint8_t(draw(2) << 7 | draw(60))
                   : i % K == 2 ? uint8_t(kind == SHARED ? a[i - 1] : 0)
                                : 0;
    }
    for (size_t i = 0; i < b.size(); ++i)
        b[i] = of_ones ? 0x38 : kind == CANCEL && i % 2 == 1 ? b[i - 1] : b[i];

    const DeviceArray<float> d(c);
    run(multiply<e4m3, N>, {TILES, WARPGROUP_THREADS, 1, sizeof(OperandTiles<e4m3, N>)},
        DeviceArray(a), DeviceArray(b), true, d);
    const std::vector<float> got = d.read();
    size_t differ = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        const uint8_t *of_a = &a[i / N * K], *of_b = &b[(i / (M * N) * N + i % N) * K];
        differ += bits_of_float(got[i]) != integers_multiply_add(of_a, of_b, bits_of_float(c[i]));
        if (recording != nullptr && i < 16 * N && i % N < 8) // of the first tile
            record(of_a, of_b, c[i], got[i]);
    }
    EXPECT(differ == 0, "%zu of %zu sums differ", differ, got.size());
}

template <int N = 8>
static Case sums_of(const char *name, Kind kind, Range elements, Range exponents = ALL_SIZES) {
    return {name, [=] { sums<N>(kind, elements, exponents); }};
}

static const std::vector<Case> CASES = {
    sums_of("e4m3: numbers around 1", PLAIN, {0x28, 28}, {-12, 6}), // as those timed
    sums_of<200>("e4m3: numbers around 1, 200 columns", PLAIN, {0x28, 28}, {-12, 6}),
    sums_of("e4m3: all finite numbers", PLAIN, FINITE),
    sums_of("e4m3: subnormal numbers and zeros", PLAIN, {0, 10}),
    sums_of("e4m3: sums that cancel", CANCEL, FINITE),
    sums_of("e4m3: the bits that are kept", BITS, FINITE, {-17, 22}),
    sums_of("e4m3: cut off before they are added", SHARED, FINITE, {-15, 3}),
    sums_of("e4m3: NaNs and infinite addends", SPECIAL, FINITE),
};

int main(int argc, char **argv) { return run_cases(argc, argv, {CASES}); }
