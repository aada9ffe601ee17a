// The parts of bench/energy on the emulator, under all its fixed policies: every one of them ends,
// without a hazard, multiplies and moves what it says, and writes D or leaves it alone as it says.
// One that waited for ever would cost a GPU's time; the emulator ends the program and says who
// waits for whom. What ptxas makes of the source is tested by tests/energy_code.py.
#include "energy/parts.h"

#include "device/launch.cuh"
#include "emulator/emulator.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

constexpr int M = 512, N = 512, K = 320; // six tiles, two over D's edge; more k-tiles than stages
constexpr double PACE = 1e-6;

// What each part's words say that it does: written down here once more, so that a kernel and its
// own counts cannot be wrong together.
enum class Loads { NOTHING, ONCE, ALL };
struct Description {
    const char *part;
    int mmas; // that a block of 64 rows takes side by side; 0: it does not multiply
    Loads loads;
};
constexpr int BM = 256, BN = 200, BK = 64, STAGES = 3, MMA_M = 64, MMA_K = 16;
const Description DESCRIPTIONS[] = {
    {"whole", 1, Loads::ALL},
    {"no-store", 1, Loads::ALL},
    {"no-dram", 1, Loads::ALL},
    {"no-loads", 1, Loads::ONCE},
    {"multiply", 1, Loads::ONCE},
    {"multiply-n104", 2, Loads::ONCE},
    {"multiply-n40", 5, Loads::ONCE},
    {"multiply-a-registers", 1, Loads::ONCE},
    {"multiply-half", 1, Loads::ONCE},
    {"multiply-zeros", 1, Loads::ONCE},
    {"whole-three-quarters", 1, Loads::ALL},
    {"whole-half", 1, Loads::ALL},
    {"loads", 0, Loads::ALL},
    {"loads-l2", 0, Loads::ALL},
    {"loads-l2-apart", 0, Loads::ALL},
    {"waiting", 0, Loads::NOTHING},
};

using Matrix = std::vector<bf16>;

// Small whole numbers: every sum of their products is exact.
Matrix integers(int rows, int columns, int step) {
    Matrix matrix(size_t(rows) * columns);
    for (size_t i = 0; i < matrix.size(); ++i)
        matrix[i] = __float2bfloat16(float(int(i * step % 7) - 3));
    return matrix;
}

float product(const Matrix &a, const Matrix &b, int row, int column) {
    float sum = 0;
    for (int k = 0; k < K; ++k)
        sum +=
            __bfloat162float(a[size_t(row) * K + k]) * __bfloat162float(b[size_t(column) * K + k]);
    return sum;
}

// How many elements of D are not as the part has to leave them.
int wrong(const part &part, const Matrix &a, const Matrix &b, const Matrix &before,
          const Matrix &after) {
    int count = 0;
    for (int row = 0; row < M; ++row)
        for (int column = 0; column < N; ++column) {
            const size_t i = size_t(row) * N + column;
            const bf16 wanted =
                part.stores ? __float2bfloat16(product(a, b, row, column)) : before[i];
            count += std::memcmp(&after[i], &wanted, sizeof wanted) != 0;
        }
    return count;
}

int tiles_along(int length, int tile) { return (length + tile - 1) / tile; }

// Rows of A and B of the first tiles: of those at D's edge what lies inside it. All rows of tiles
// fit into one strip.
int rows_loaded(int tiles) {
    const int tiles_m = tiles_along(M, BM);
    int rows = 0;
    for (int i = 0; i < tiles; ++i)
        rows += std::min(BM, M - i % tiles_m * BM) + std::min(BN, N - i / tiles_m * BN);
    return rows;
}

// False, after printing why, unless the last launch did so much.
bool equal(const char *what, double said, double counted, double wanted) {
    if (said == wanted && counted == wanted)
        return true;
    printf("%s: %.0f wanted, the part says %.0f, the emulator counts %.0f\n", what, wanted, said,
           counted);
    return false;
}

// True if the last launch multiplied and moved what the part's description says, and the counts
// that go into the record say the same.
bool does_what_it_says(const part &part, const part_counts &says) {
    const Description *description = nullptr;
    for (const Description &one : DESCRIPTIONS)
        if (std::strcmp(one.part, part.name) == 0)
            description = &one;
    if (description == nullptr) {
        printf("what %s does is not described in this test\n", part.name);
        return false;
    }
    emulator_counts counts;
    emulator_get_counts(&counts);
    const int tiles = tiles_along(M, BM) * tiles_along(N, BN);
    const double loaded = description->loads == Loads::NOTHING ? 0
                          : description->loads == Loads::ONCE
                              ? rows_loaded(int(counts.ctas)) * STAGES
                              : rows_loaded(tiles) * (K / BK);
    // What lies over D's edge is multiplied too.
    const double wgmmas = description->mmas * double(tiles) * (BM / MMA_M) * (K / MMA_K);
    const double multiply_adds = description->mmas > 0 ? double(tiles) * BM * BN * K : 0;
    const double stored = part.stores ? double(M) * N * sizeof(bf16) : 0;
    bool good = equal("multiply-adds", says.flop / 2, double(counts.multiply_adds), multiply_adds);
    good &= equal("wgmmas", wgmmas, double(counts.wgmmas), wgmmas);
    good &= equal("bytes loaded", says.loaded_bytes, double(counts.tma_read_bytes),
                  loaded * BK * sizeof(bf16));
    good &= equal("bytes stored", says.stored_bytes, double(counts.tma_written_bytes), stored);
    return good;
}

// True if the part ran, did what it says and left D as it has to be.
bool right(const part &part, const Matrix &a, const Matrix &b) {
    const Matrix before(size_t(M) * N, __float2bfloat16(-1.5f));
    Matrix after(before.size());
    bf16 *on_device[] = {upload_array(a.data(), a.size()), upload_array(b.data(), b.size()),
                         upload_array(before.data(), before.size())};
    problem p = {};
    p.a = on_device[0], p.b = on_device[1], p.d = on_device[2];
    p.m = M, p.n = N, p.k = K;
    void *state = nullptr;
    const bool ran = part_prepare(&part, &p, PACE, &state) == 0 && part_launch(&p, state) == 0 &&
                     part_launch(&p, state) == 0 && cudaDeviceSynchronize() == cudaSuccess &&
                     cudaMemcpy(after.data(), p.d, after.size() * sizeof(bf16),
                                cudaMemcpyDeviceToHost) == cudaSuccess;
    const bool as_said = ran && does_what_it_says(part, part_count(&p, state));
    part_release(state);
    for (bf16 *array : on_device)
        release_array(array);
    return as_said && wrong(part, a, b, before, after) == 0;
}

} // namespace

int main() {
    const Matrix a = integers(M, K, 5), b = integers(N, K, 3);
    int failed = 0;
    for (size_t policy = 0; policy < emulator_fixed_policies(); ++policy) {
        const char *name = emulator_policies()[policy];
        emulator_choose_policy(name, 0);
        for (size_t i = 0; i < parts_count; ++i) {
            if (parts[i].kind != PART_KERNEL)
                continue;
            const bool good = right(parts[i], a, b);
            printf("%s - energy: the part %s, policy %s%s\n", good ? "ok" : "not ok", parts[i].name,
                   name, good ? "" : ": it failed, does not what it says, or D is wrong");
            fflush(stdout);
            failed += !good;
        }
    }
    return failed > 0;
}
