// The probe of wgmma's e4m3 sums: random and telling vectors, each compared bit for bit with sums
// of whole numbers (e4m3_integers.h), on a GPU or on the emulator, which adds by e4m3.h.
//
//   test_e4m3 [--record FILE]
//
// --record writes what came out, right or wrong: a line for each of 128 sums
// of every case, with 32 bytes of A, 32 of B, the addend and the result, all hexadecimal.
// tests/unit/test_e4m3.c compares such files in bench/results/instructions with both. Without
// a GPU of compute capability 9.0 every case is skipped.
#include "../../emulator/tests/test.h"
#include "device/tma.cuh"
#include "device/wgmma_e4m3.cuh"
#include "e4m3_integers.h"

#include <math.h>
#include <string.h>
#include <vector>

constexpr int M = 64;
constexpr int TILES = 64; // of a case: a CTA each
constexpr int K = INTEGERS_K;

static FILE *recording; // of --record FILE; nullptr without it

template <int N>
struct OperandTiles {
    alignas(1024) e4m3 a[M * SWIZZLE_BYTES];
    alignas(1024) e4m3 b[N * SWIZZLE_BYTES];
};

// d [tile][M][N] += a [tile][M][K] * b [tile][N][K]^T by one wgmma. A CTA has a tile.
template <int N>
__global__ void multiply(const e4m3 *a, const e4m3 *b, float *d) {
    OperandTiles<N> &smem = dynamic_smem<OperandTiles<N>>();
    for (int i = threadIdx.x; i < M * K; i += WARPGROUP_THREADS)
        smem.a[swizzle_128b<e4m3>(i / K, i % K)] = a[blockIdx.x * M * K + i];
    for (int i = threadIdx.x; i < N * K; i += WARPGROUP_THREADS)
        smem.b[swizzle_128b<e4m3>(i / K, i % K)] = b[blockIdx.x * N * K + i];
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote

    float acc[N / 2];
    const auto for_each = [&](auto copy) { // accumulator, with its element, as the PTX manual draws
        const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
        for (int i = 0; i < N / 2; ++i)
            copy(acc[i],
                 d[(blockIdx.x * M + row + i / 2 % 2 * 8) * N + column + i / 4 * 8 + i % 2]);
    };
    for_each([](float &sum, float &element) { sum = element; });
    wgmma_wait<0>(acc); // waits for nothing, and keeps the lines above before the fence
    wgmma_fence();
    wgmma_e4m3<N>(acc, matrix_descriptor(smem.a), matrix_descriptor(smem.b));
    wgmma_commit();
    wgmma_wait<0>(acc);
    for_each([](float &sum, float &element) { element = sum; });
}

// Elements that a function makes of their places.
template <typename T, typename Make>
static std::vector<T> each(size_t count, Make make) {
    std::vector<T> made;
    for (size_t i = 0; i < count; ++i)
        made.push_back(T(make(int(i))));
    return made;
}

// The sums of all tiles.
template <int N>
static std::vector<float> multiplied(const std::vector<uint8_t> &a, const std::vector<uint8_t> &b,
                                     std::vector<float> sums) {
    uint8_t *of_a = upload_array(a.data(), a.size()), *of_b = upload_array(b.data(), b.size());
    float *d = upload_array(sums.data(), sums.size());
    const int failed =
        allow_dynamic_smem(multiply<N>, sizeof(OperandTiles<N>)) ||
        launch(multiply<N>, dim3(TILES), dim3(WARPGROUP_THREADS), dim3(1), sizeof(OperandTiles<N>),
               cudaStream_t(nullptr), reinterpret_cast<const e4m3 *>(of_a),
               reinterpret_cast<const e4m3 *>(of_b), d);
    const cudaError_t status =
        cudaMemcpy(sums.data(), d, sums.size() * sizeof(float), cudaMemcpyDeviceToHost);
    EXPECT(!failed && status == cudaSuccess, "%s", cudaGetErrorString(status));
    release_array(of_a), release_array(of_b), release_array(d);
    return sums;
}

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

    const std::vector<float> got = multiplied<N>(a, b, c);
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
static void run_sums(const char *name, Kind kind, Range elements, Range exponents = ALL_SIZES) {
    static Kind of;
    static Range from, sizes;
    of = kind, from = elements, sizes = exponents;
    run_case(name, [] { sums<N>(of, from, sizes); });
}

int main(int argc, char **argv) {
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) != cudaSuccess ||
        major != 9 || minor != 0) {
        skip_case("sums", "it needs a GPU of compute capability 9.0");
        return test_result();
    }
    if (argc == 3 && strcmp(argv[1], "--record") == 0)
        recording = fopen(argv[2], "w");
    if (argc > 1 && recording == nullptr) {
        fprintf(stderr, "usage: %s [--record FILE], a file that can be written\n", argv[0]);
        return 2;
    }
    run_sums("numbers around 1", PLAIN, {0x28, 28}, {-12, 6}); // as those timed
    run_sums<200>("numbers around 1, 200 columns", PLAIN, {0x28, 28}, {-12, 6});
    run_sums("all finite numbers", PLAIN, FINITE);
    run_sums("subnormal numbers and zeros", PLAIN, {0, 10});
    run_sums("sums that cancel", CANCEL, FINITE);
    run_sums("the bits that are kept", BITS, FINITE, {-17, 22});
    run_sums("cut off before they are added", SHARED, FINITE, {-15, 3});
    run_sums("NaNs and infinite addends", SPECIAL, FINITE);
    return recording != nullptr && fclose(recording) != 0 ? 1 : test_result();
}
