// The parts of bench/energy on the emulator, under all its fixed policies: every one of them ends,
// without a hazard, and writes D or leaves it alone as it says. One that waited for ever would cost
// a GPU's time; the emulator ends the program and says who waits for whom.
#include "energy/parts.h"

#include "device/launch.cuh"
#include "emulator/emulator.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace {

constexpr int M = 512, N = 512, K = 320; // eight tiles, more k-tiles than stages
constexpr double PACE = 1e-6;

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

// True if the part ran and left D as it has to be.
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
    part_release(state);
    for (bf16 *array : on_device)
        release_array(array);
    return ran && wrong(part, a, b, before, after) == 0;
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
                   name, good ? "" : ": it failed, or D is wrong");
            fflush(stdout);
            failed += !good;
        }
    }
    return failed > 0;
}
