// Sums of the parts of tiles, of which each is in a CTA of its own: the CTAs store them to device
// memory, and a launch of its own adds them. Any number of clusters can so divide k.
#pragma once

#include "device/dependent_launch.cuh"
#include "device/tile_store.cuh"
#include "device/vector.cuh"

constexpr int ADDED = 4; // sums of a thread

// Elements from row to row of a part's sums, whose rows are multiples of 16 bytes.
HOST_DEVICE constexpr int sums_pitch(int n) { return (n + ADDED - 1) / ADDED * ADDED; }

// Elements of all parts' sums of an m x n matrix.
constexpr size_t sums_count(int parts, int m, int n) { return size_t(parts) * m * sums_pitch(n); }

// The warpgroup stores a block of its part's accumulators, of which the first is that of (row,
// column): to sums[part][m][sums_pitch(n)]. EXCHANGED: they are of D^T. Each instruction of a warp
// writes whole 32-byte sectors.
template <bool EXCHANGED, int COUNT>
DEVICE void store_sums(float *sums, const float (&acc)[COUNT], int part, int row, int column, int m,
                       int n) {
    const int pitch = sums_pitch(n);
    float *to = sums + size_t(part) * m * pitch;
    row += accumulator_row();
    column += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) {
        const int r = row + i % 4 * 4;
        const int c = column + i / 4 * 8;
        if (!EXCHANGED && r < m && c < pitch)
            *reinterpret_cast<float2 *>(&to[size_t(r) * pitch + c]) =
                make_float2(acc[i], acc[i + 1]);
        for (int j = 0; j < 2; ++j)
            if (EXCHANGED && r < pitch && c + j < m)
                to[size_t(c + j) * pitch + r] = acc[i + j];
    }
}

constexpr int ADD_THREADS = 128;

// Adds the sums of all parts, in their order, and the bias, and writes them to D.
static __global__ void __launch_bounds__(ADD_THREADS)
    add_parts(const float *sums, int parts, const __grid_constant__ Output out) {
    launch_dependents();
    wait_for_launch_before(); // the sums are there
    const int pitch = sums_pitch(out.n);
    const size_t count = size_t(out.m) * pitch; // of a part
    const size_t i = (size_t(blockIdx.x) * ADD_THREADS + threadIdx.x) * ADDED;
    if (i >= count)
        return;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 8 // reads in flight
    for (int part = 0; part < parts; ++part) {
        const float4 more = *reinterpret_cast<const float4 *>(&sums[part * count + i]);
        sum = make_float4(sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w);
    }
    float values[ADDED] = {sum.x, sum.y, sum.z, sum.w};
    const int row = i / pitch, column = i % pitch;
    for (int j = 0; j < ADDED && out.bias != nullptr; ++j)
        values[j] += bias_at(out, column + j);
    bf16 *to = &out.d[row * out.pitch + column];
    const bool by_fours = (out.n | out.pitch) % ADDED == 0;
    if (by_fours)
        *reinterpret_cast<uint2 *>(to) =
            make_uint2(pack_bf16(values[0], values[1]), pack_bf16(values[2], values[3]));
    for (int j = 0; j < ADDED && !by_fours && column + j < out.n; ++j)
        to[j] = __float2bfloat16_rn(values[j]);
}
