// fp16 and bf16: what is rounded, and how. And which launches a device refuses.
#pragma once

#include "device/dependent_launch.cuh"
#include "frame.cuh"

// The conversions and the arithmetic, as bits: out [count][CONVERSIONS].
constexpr int CONVERSIONS = 9;

// fp16 and bf16 as bits.
template <typename T>
DEVICE uint16_t bits(T value) {
    static_assert(sizeof value == sizeof(uint16_t), "16 bits");
    return *reinterpret_cast<const uint16_t *>(&value);
}

__global__ void convert(const float *values, int count, uint16_t *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const float value = values[i], other = values[(i + 7) % count];
    const half a = __float2half(value), b = __float2half(other), c = __float2half(value * 0.25f);
    const half2 pair = __halves2half2(a, b);
    const half2 sums = __hadd2(pair, __float2half2_rn(1.0f));
    const half2 fused = __hfma2(pair, __halves2half2(b, b), __halves2half2(c, c));
    const half2 products = __hmul2(pair, __float2half2_rn(1.0f / 3));
    const __nv_bfloat162 narrow = __floats2bfloat162_rn(value, other);
    const uint16_t all[CONVERSIONS] = {
        bits(a),          bits(sums.x),   bits(sums.y),
        bits(fused.x),    bits(fused.y),  bits(products.x),
        bits(products.y), bits(narrow.x), bits(__float2bfloat16(__half2float(a)))};
    for (int j = 0; j < CONVERSIONS; ++j)
        out[i * CONVERSIONS + j] = all[j];
}

// Numbers of all sizes, halfway between two fp16 numbers and just beside, and the odd ones.
static std::vector<float> interesting() {
    std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 65504, 65519, 65520, 1e38f};
    for (int exponent = -30; exponent <= 20; ++exponent)
        for (int mantissa : {0, 1, 0x7ff, 0x800, 0x801, 0x1000, 0x1001, 0x17ff, 0x3000, 0x7fffff,
                             0x7ff000, 0x8000, 0x7fff, 0x8001, 0x18000, 0x355555})
            values.push_back(ldexpf(float(0x800000 | mantissa), exponent - 23) *
                             (mantissa % 3 ? 1.0f : -1.0f));
    return values;
}

// The record says what a GPU gave. How both round is in tests/unit/test_numbers.c.
static void conversions() {
    const std::vector<float> values = interesting();
    const int count = int(values.size());
    const DeviceArray<uint16_t> out(count * CONVERSIONS, 0);
    run(convert, {ceil_div(count, 64), 64}, DeviceArray(values), count, out);
    out.read();
}

// ---------------------------------------------------------------------------- launches

__global__ void leave_a_mark(int *out) {
    if (threadIdx.x == 0)
        out[0] = 1;
}

static cudaError_t try_launch(dim3 grid, dim3 block, dim3 cluster, size_t smem, int *out) {
    const LaunchConfig tried(grid, block, cluster, smem, nullptr);
    const cudaError_t status = cudaLaunchKernelEx(&tried.config, leave_a_mark, out);
    cudaGetLastError(); // an error is not to be seen by the next case
    return status;
}

// A launch that does not fit is refused, and nothing runs.
static void launch_limits() {
    const DeviceArray<int> out(1, 0);
    const int refused[] = {
        try_launch(dim3(1), dim3(1025), dim3(1), 0, out),
        try_launch(dim3(3), dim3(32), dim3(2), 0, out),
        try_launch(dim3(1), dim3(32), dim3(1), 49 * 1024, out),
        try_launch(dim3(16), dim3(32), dim3(16), 0, out),
        try_launch(dim3(1, 70000), dim3(32), dim3(1), 0, out),
        cudaFuncSetAttribute(leave_a_mark, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024),
    };
    cudaGetLastError();
    for (const int &status : refused)
        EXPECT(status != cudaSuccess, "launch %d was not refused", int(&status - refused));
    digests.back().add(refused, sizeof refused);
    cudaDeviceSynchronize();
    out.expect("launches", {0});
    int l2 = 0;
    EXPECT(l2_size(&l2) == 0 && l2 > 0, "an L2 of %d bytes", l2);
    EXPECT(allow_dynamic_smem(leave_a_mark, 227 * 1024) == 0, "227 KB");
    run(leave_a_mark, {1, 32, 1, 227 * 1024}, out);
    out.expect("launches", {1});
}

// Lets the next launch begin, and writes `value` much later.
__global__ void write_late(volatile int *number, int value) {
    launch_dependents();
    for (int i = 0; i < 20000; ++i) // keeps it busy for longer than a launch takes
        *number = -i;
    *number = value;
}

__global__ void read_early(const volatile int *number, int *out) {
    wait_for_launch_before();
    *out = *number;
}

// What is launched early sees, behind its wait, what the launch before wrote.
static void launched_early() {
    constexpr int LAUNCHES = 8;
    const DeviceArray<int> number(1, 0), out(LAUNCHES, 0);
    const cudaStream_t stream = nullptr;
    int failed = 0;
    for (int i = 0; i < LAUNCHES; ++i) {
        failed |= launch(write_late, dim3(1), dim3(1), dim3(1), 0, stream, number.device, i + 1);
        failed |= launch_early(true, read_early, dim3(1), dim3(1), dim3(1), 0, stream,
                               number.device, out.device + i);
    }
    finish(failed);
    out.expect("numbers", each<int>(LAUNCHES, [](int i) { return i + 1; }));
}

static const std::vector<Case> NUMBER_CASES = {
    {"fp16 and bf16: rounding", conversions},
    {"launches: what does not fit", launch_limits},
    {"launch_early: waits for the launch before", launched_early},
};
