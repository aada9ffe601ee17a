// The probe of wgmma's e4m3 sums: random and telling vectors, each compared bit for bit with sums
// of whole numbers (e4m3_integers.h), on a GPU or on the emulator, which adds by e4m3.h.
//
//   test_e4m3 [--record FILE]
//
// --record writes what came out, right or wrong: a line for each of 128 sums
// of every case, with 32 bytes of A, 32 of B, the addend and the result, all hexadecimal.
// tests/unit/test_e4m3.c compares such files in bench/results/instructions with both. Without
// a GPU of compute capability 9.0 every case is skipped.
#include "device/tma.cuh"
#include "device/wgmma_e4m3.cuh"
#include "e4m3_integers.h"
#include "frame.cuh"

#include <math.h>
#include <string.h>

constexpr int M = 64;
constexpr int TILES = 64; // of a case: a CTA each
constexpr int K = INTEGERS_K;

template <int N>
struct Tiles {
    alignas(1024) e4m3 a[M * SWIZZLE_BYTES]; // only 32 bytes of a row are used
    alignas(1024) e4m3 b[(N + 7) / 8 * 8 * SWIZZLE_BYTES];
};

// d [tile][64][N] = a [tile][64][32] * b [tile][N][32]^T + c [tile][64][N], in one wgmma.
template <int N>
__global__ void multiply(const e4m3 *a, const e4m3 *b, const float *c, float *d) {
    Tiles<N> &smem = dynamic_smem<Tiles<N>>();
    for (int i = threadIdx.x; i < M * K; i += WARPGROUP_THREADS)
        smem.a[swizzle_128b<e4m3>(i / K, i % K)] = a[blockIdx.x * M * K + i];
    for (int i = threadIdx.x; i < N * K; i += WARPGROUP_THREADS)
        smem.b[swizzle_128b<e4m3>(i / K, i % K)] = b[blockIdx.x * N * K + i];
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote

    // Accumulator i is at this row and column. (PTX ISA: wgmma, D fragment.)
    const int row = 16 * (threadIdx.x / 32) + threadIdx.x % 32 / 4;
    const int column = threadIdx.x % 4 * 2;
    const int tile = blockIdx.x * M * N;
    float acc[N / 2];
    for (int i = 0; i < N / 2; ++i)
        acc[i] = c[tile + (row + i / 2 % 2 * 8) * N + column + i / 4 * 8 + i % 2];
    wgmma_wait<0>(acc); // waits for nothing, and keeps the lines above before the fence
    wgmma_fence();
    wgmma_e4m3<N>(acc, matrix_descriptor(smem.a), matrix_descriptor(smem.b));
    wgmma_commit();
    wgmma_wait<0>(acc);
    for (int i = 0; i < N / 2; ++i)
        d[tile + (row + i / 2 % 2 * 8) * N + column + i / 4 * 8 + i % 2] = acc[i];
}

// ---------------------------------------------------------------------------- vectors

static uint64_t state = 1; // xorshift: the same numbers everywhere

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return uint32_t((state >> 32) * below >> 32);
}

static uint8_t finite() { return uint8_t(draw(2) << 7 | draw(127)); }

// Around 1, as many as normal numbers are.
static uint8_t common() { return uint8_t(draw(2) << 7 | (0x28 + draw(28))); }

// A tile's operands and addends.
struct Vectors {
    std::vector<uint8_t> a, b;
    std::vector<float> c;
};

enum kind {
    COMMON, // like the timed inputs
    FINITE, // any, and addends of all sizes
    SMALL,  // subnormal numbers, and zeros
    CANCEL, // sums that become small or 0
    BITS,   // 1 and a power of two: how far below the largest term bits are kept
    SHARED, // the same in two parts, each too small: terms are cut off before they are added
    SPECIAL // NaNs, and infinite addends
};

static float addend(kind kind) {
    const float numbers[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1.0f};
    const float sign = draw(2) ? 1.0f : -1.0f;
    if (kind == SPECIAL)
        return numbers[draw(6)];
    return sign * float(draw(1 << 14)) *
           ldexpf(1, kind == COMMON ? int(draw(6)) - 12 : int(draw(40)) - 34);
}

static Vectors vectors(kind kind, int n) {
    Vectors made = {std::vector<uint8_t>(TILES * M * K), std::vector<uint8_t>(TILES * n * K),
                    std::vector<float>(TILES * M * n)};
    for (std::vector<uint8_t> *operand : {&made.a, &made.b})
        for (uint8_t &element : *operand)
            element = kind == COMMON  ? common()
                      : kind == SMALL ? uint8_t(draw(2) << 7 | draw(10))
                                      : finite();
    for (float &element : made.c)
        element = addend(kind);
    if (kind == CANCEL) // of two neighbours in A one is minus the other, and those in B are equal
        for (size_t i = 0; i < made.a.size(); i += 2)
            made.a[i + 1] = made.a[i] ^ (draw(64) ? 0x80 : 0x81);
    if (kind == CANCEL)
        for (size_t i = 0; i < made.b.size(); i += 2)
            made.b[i + 1] = made.b[i];
    if (kind == SPECIAL)
        for (uint8_t &element : made.a)
            element = draw(500) ? element : uint8_t(0x7f | draw(2) << 7);
    if (kind == BITS || kind == SHARED) {
        std::fill(made.a.begin(), made.a.end(), uint8_t(0));
        std::fill(made.b.begin(), made.b.end(), uint8_t(0x38)); // 1
        for (size_t i = 0; i < made.a.size(); i += K) {
            made.a[i] = uint8_t(draw(2) << 7 | 0x38);
            made.a[i + 1] = uint8_t(draw(2) << 7 | draw(60)); // at most 1.75
            made.a[i + 2] = kind == SHARED ? made.a[i + 1] : 0;
        }
        for (float &element : made.c)
            element = (draw(2) ? 1.0f : -1.0f) *
                      ldexpf(1, kind == SHARED ? -13 - int(draw(3)) : 4 - int(draw(22)));
    }
    return made;
}

// ---------------------------------------------------------------------------- cases

static FILE *recording;

static uint32_t word(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void record(const uint8_t *a, const uint8_t *b, float c, float d) {
    for (int i = 0; i < 2 * K; ++i)
        fprintf(recording, "%02x%s", i < K ? a[i] : b[i - K], i % K == K - 1 ? " " : "");
    fprintf(recording, "%08x %08x\n", word(c), word(d));
}

template <int N, kind KIND>
static void sums() {
    const Vectors made = vectors(KIND, N);
    const DeviceArray<uint8_t> a(made.a), b(made.b);
    const DeviceArray<float> c(made.c), d(made.c.size(), 0.0f);
    run(multiply<N>, {TILES, WARPGROUP_THREADS, 1, sizeof(Tiles<N>)}, a.device, b.device, c.device,
        d.device);
    const std::vector<float> got = d.read();
    size_t differ = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        const uint8_t *of_a = &made.a[i / N * K];
        const uint8_t *of_b = &made.b[(i / (M * N) * N + i % N) * K];
        differ += word(got[i]) != integers_multiply_add(of_a, of_b, word(made.c[i]));
        if (recording != nullptr && i < 16 * N && i % N < 8) // of the first tile
            record(of_a, of_b, made.c[i], got[i]);
    }
    EXPECT(differ == 0, "%zu of %zu sums differ", differ, got.size());
}

static const Case CASES[] = {
    {"e4m3: numbers around 1", sums<8, COMMON>},
    {"e4m3: numbers around 1, 200 columns", sums<200, COMMON>},
    {"e4m3: all finite numbers", sums<8, FINITE>},
    {"e4m3: subnormal numbers and zeros", sums<8, SMALL>},
    {"e4m3: sums that cancel", sums<8, CANCEL>},
    {"e4m3: the bits that are kept", sums<8, BITS>},
    {"e4m3: cut off before they are added", sums<8, SHARED>},
    {"e4m3: NaNs and infinite addends", sums<8, SPECIAL>},
};

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--record") == 0) {
        recording = fopen(argv[2], "w");
        if (recording == nullptr) {
            perror(argv[2]);
            return 1;
        }
    } else if (argc > 1) {
        fprintf(stderr, "usage: %s [--record FILE]\n", argv[0]);
        return 2;
    }
    run_cases(CASES);
    if (recording != nullptr)
        fclose(recording);
    return test_result();
}
