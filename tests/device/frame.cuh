// What the programs for a GPU are made of. Matrices hold different bits in every
// element, so that one in the wrong place is seen; what must not be written holds UNWRITTEN.
#pragma once

#include "../../emulator/tests/test.h"
#include "device/launch.cuh"
#include "digests.h"

#include <cuda_fp16.h>
#include <math.h>
#include <tuple>
#include <vector>

constexpr uint16_t UNWRITTEN = 0xffff;

// An array on the device, and what the host put there.
template <typename T>
struct DeviceArray {
    T *device;
    size_t count;

    explicit DeviceArray(const std::vector<T> &host)
        : device(upload_array(host.data(), host.size())), count(host.size()) {}
    DeviceArray(size_t size, T value) : DeviceArray(std::vector<T>(size, value)) {}
    DeviceArray(const DeviceArray &) = delete;
    ~DeviceArray() { release_array(device); }

    // What it holds now that the kernels are done: output of the case that runs.
    std::vector<T> read() const {
        std::vector<T> host(count);
        const cudaError_t status =
            cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
        EXPECT(status == cudaSuccess, "%s", cudaGetErrorString(status));
        digests.back().add(host.data(), count * sizeof(T));
        return host;
    }
};

// How a kernel is launched: blocks and bytes of dynamic shared memory.
struct Shape {
    int grid, block, cluster = 1;
    size_t smem = 0;
};

// Launches on the default stream and waits. Kernels take bits as what they are bits of.
template <typename... Parameters, typename... Arguments>
static void run(void (*kernel)(Parameters...), const Shape &shape, const Arguments &...arguments) {
    const int failed = allow_dynamic_smem(kernel, shape.smem) ||
                       launch(kernel, dim3(shape.grid), dim3(shape.block), dim3(shape.cluster),
                              shape.smem, cudaStream_t(nullptr), (Parameters)(arguments)...);
    const cudaError_t status = cudaDeviceSynchronize();
    EXPECT(!failed && status == cudaSuccess, "%s", cudaGetErrorString(status));
}

template <typename T>
static void expect_equal(const std::vector<T> &got, const std::vector<T> &expected, int columns,
                         const std::string &name) {
    const char *what = name.c_str();
    EXPECT(got.size() == expected.size(), "%s: %zu elements", what, got.size());
    for (size_t i = 0; i < expected.size() && i < got.size(); ++i)
        EXPECT(got[i] == expected[i], "%s: [%zu][%zu] is %g, not %g", what, i / columns,
               i % columns, double(got[i]), double(expected[i]));
}

// Runs the kernel with an array of `before` as its last argument, where it has to write what is
// expected.
template <typename T, typename... Parameters, typename... Arguments>
static void expect_output(const std::vector<T> &expected, T before, int columns,
                          const std::string &name, void (*kernel)(Parameters...),
                          const Shape &shape, const Arguments &...arguments) {
    const DeviceArray<T> out(expected.size(), before);
    run(kernel, shape, arguments..., out.device);
    expect_equal(out.read(), expected, columns, name);
}

inline std::string box_at(int row, int column) {
    return "box at (" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

// fp16 and bf16 as bits.
template <typename T>
__host__ __device__ inline uint16_t bits(T value) {
    static_assert(sizeof value == sizeof(uint16_t), "16 bits");
    return *reinterpret_cast<const uint16_t *>(&value);
}
inline uint16_t bf16_bits(float value) { return bits(__float2bfloat16(value)); }
inline uint16_t half_bits(float value) { return bits(__float2half(value)); }

inline std::vector<uint16_t> rounded(const std::vector<float> &values, uint16_t (*round)(float)) {
    std::vector<uint16_t> made;
    for (float value : values)
        made.push_back(round(value));
    return made;
}

// A matrix [rows][columns] of numbers from 1 on as bits; 4-byte ones are large, with NaNs among
// them.
template <typename Bits = uint16_t>
std::vector<Bits> numbered(int rows, int columns) {
    std::vector<Bits> matrix(rows * columns);
    for (int i = 0; i < rows * columns; ++i)
        matrix[i] = sizeof(Bits) == 2 ? Bits(i + 1) : Bits(0x7f800001u + i * 0x01000193u);
    return matrix;
}

// A matrix of small integers, every element another than its neighbours; exact in fp16 and bf16, as
// are sums of products of two of them.
inline std::vector<float> small_integers(int rows, int columns, int step) {
    std::vector<float> matrix(rows * columns);
    for (int i = 0; i < rows * columns; ++i)
        matrix[i] = float(i * step % 13 - 6);
    return matrix;
}

// The cases of a program. Each needs a GPU of compute capability 9.0, or the emulator.
struct Case {
    const char *name;
    void (*body)();
};

// Runs them, or skips them where they cannot run; whether they ran.
template <int COUNT>
static bool run_cases(const Case (&cases)[COUNT]) {
    int major = 0;
    int minor = 0;
    const bool fits =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess &&
        major == 9 && minor == 0;
    for (const auto &[name, body] : cases) {
        digests.push_back({.name = name});
        if (fits)
            run_case(name, body);
        else
            skip_case(name, "it needs a GPU of compute capability 9.0");
    }
    return fits;
}
