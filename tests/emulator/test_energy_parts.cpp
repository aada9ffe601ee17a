// The parts of bench/energy on the emulator, under all its fixed policies: every one of them ends,
// without a hazard, multiplies and moves what it says, and writes D or leaves it alone as it says.
// One that waited for ever would cost a GPU's time; the emulator ends the program and says who
// waits for whom. What ptxas makes of the source is tested by tests/energy_code.py.
#include "energy/parts.h"

#include "device/launch.cuh"
#include "emulator/emulator.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

// Six tiles, two over D's edge; more k-tiles than stages.
constexpr int M = 512, N = 512, K = 320, TILES_M = 2, TILES = 6;
constexpr double PACE = 1e-6;
constexpr int BM = 256, BN = 200, BK = 64, STAGES = 3, MMA_M = 64, MMA_K = 16;

// What each part's words say that it does: written down here once more, so that a kernel and its
// own counts cannot be wrong together.
enum class Loads { NOTHING, ONCE, ALL };
struct Description {
    int mmas; // that a block of 64 rows takes side by side; 0: it does not multiply
    Loads loads;
};
const std::map<std::string, Description> DESCRIPTIONS = {
    {"whole", {1, Loads::ALL}},
    {"no-store", {1, Loads::ALL}},
    {"no-dram", {1, Loads::ALL}},
    {"no-loads", {1, Loads::ONCE}},
    {"multiply", {1, Loads::ONCE}},
    {"multiply-n104", {2, Loads::ONCE}},
    {"multiply-n40", {5, Loads::ONCE}},
    {"multiply-a-registers", {1, Loads::ONCE}},
    {"multiply-half", {1, Loads::ONCE}},
    {"multiply-zeros", {1, Loads::ONCE}},
    {"whole-three-quarters", {1, Loads::ALL}},
    {"whole-half", {1, Loads::ALL}},
    {"loads", {0, Loads::ALL}},
    {"loads-l2", {0, Loads::ALL}},
    {"loads-l2-apart", {0, Loads::ALL}},
    {"waiting", {0, Loads::NOTHING}},
};

using Matrix = std::vector<bf16>;

// Small whole numbers: every sum of their products is exact.
Matrix integers(int rows, int columns, int step) {
    Matrix matrix(size_t(rows) * columns);
    for (size_t i = 0; i < matrix.size(); ++i)
        matrix[i] = __float2bfloat16(float(int(i * step % 7) - 3));
    return matrix;
}

Matrix product(const Matrix &a, const Matrix &b) {
    Matrix d(size_t(M) * N);
    for (size_t i = 0; i < d.size(); ++i) {
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum += __bfloat162float(a[i / N * K + k]) * __bfloat162float(b[i % N * K + k]);
        d[i] = __float2bfloat16(sum);
    }
    return d;
}

// Bytes of A and B of the first tiles: of those at D's edge what lies inside it. All rows of tiles
// fit into one strip.
double bytes_loaded(int tiles, int k_tiles) {
    int rows = 0;
    for (int i = 0; i < tiles; ++i)
        rows += std::min(BM, M - i % TILES_M * BM) + std::min(BN, N - i / TILES_M * BN);
    return double(rows) * k_tiles * BK * sizeof(bf16);
}

// True if the last launch multiplied and moved what the part's description says, and the counts
// that go into the record say the same. Else a line has been printed for each that differs.
bool does_what_it_says(const part &part, const part_counts &says) {
    const Description wanted = DESCRIPTIONS.at(part.name);
    emulator_counts counts;
    emulator_get_counts(&counts);
    // What lies over D's edge is multiplied too.
    const double wgmmas = wanted.mmas * double(TILES) * (BM / MMA_M) * (K / MMA_K);
    const double loaded = wanted.loads == Loads::ALL    ? bytes_loaded(TILES, K / BK)
                          : wanted.loads == Loads::ONCE ? bytes_loaded(int(counts.ctas), STAGES)
                                                        : 0;
    const struct {
        const char *what;
        double said, counted, wanted;
    } rows[] = {
        {"multiply-adds", says.flop / 2, double(counts.multiply_adds),
         wanted.mmas > 0 ? double(TILES) * BM * BN * K : 0},
        {"wgmmas", wgmmas, double(counts.wgmmas), wgmmas},
        {"bytes loaded", says.loaded_bytes, double(counts.tma_read_bytes), loaded},
        {"bytes stored", says.stored_bytes, double(counts.tma_written_bytes),
         part.stores ? double(M) * N * sizeof(bf16) : 0},
    };
    bool good = true;
    for (const auto &row : rows)
        if (row.said != row.wanted || row.counted != row.wanted) {
            printf("%s: %.0f wanted, the part says %.0f, the emulator counts %.0f\n", row.what,
                   row.wanted, row.said, row.counted);
            good = false;
        }
    return good;
}

// True if the part ran, did what it says and left D as it has to be.
bool right(const part &part, const Matrix &a, const Matrix &b, const Matrix &stored) {
    const Matrix before(size_t(M) * N, __float2bfloat16(-1.5f));
    Matrix after(before.size());
    bf16 *on_device[] = {upload_array(a.data(), a.size()), upload_array(b.data(), b.size()),
                         upload_array(before.data(), before.size())};
    problem p = {};
    p.a = on_device[0], p.b = on_device[1], p.d = on_device[2];
    p.m = M, p.n = N, p.k = K;
    const size_t bytes = after.size() * sizeof(bf16);
    void *state = nullptr;
    const bool ran = part_prepare(&part, nullptr, &p, PACE, &state) == 0 &&
                     part_launch(&p, state) == 0 && part_launch(&p, state) == 0 &&
                     cudaDeviceSynchronize() == cudaSuccess &&
                     cudaMemcpy(after.data(), p.d, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    const bool as_said = ran && does_what_it_says(part, part_count(&p, state));
    part_release(state);
    for (bf16 *array : on_device)
        release_array(array);
    return as_said && memcmp(after.data(), (part.stores ? stored : before).data(), bytes) == 0;
}

} // namespace

int main() {
    const Matrix a = integers(M, K, 5), b = integers(N, K, 3), stored = product(a, b);
    int failed = 0;
    for (size_t policy = 0; policy < emulator_fixed_policies(); ++policy) {
        const char *name = emulator_policies()[policy];
        emulator_choose_policy(name, 0);
        for (size_t i = 0; i < parts_count; ++i) {
            if (parts[i].kind != PART_KERNEL)
                continue;
            const bool good = right(parts[i], a, b, stored);
            printf("%s - energy: the part %s, policy %s%s\n", good ? "ok" : "not ok", parts[i].name,
                   name, good ? "" : ": it failed, does not what it says, or D is wrong");
            fflush(stdout);
            failed += !good;
        }
    }
    return failed > 0;
}
