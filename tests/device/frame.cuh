// What the programs for a GPU are made of. Matrices hold different bits in every
// element, so that one in the wrong place is seen; what must not be written holds UNWRITTEN.
#pragma once

#include "../unit/test.h"
#include "device/launch.cuh"
#include "digests.h"

#include <math.h>
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

    bf16 *as_bf16() const { return reinterpret_cast<bf16 *>(device); }

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

// Launches on the default stream and waits.
template <typename... Parameters, typename... Arguments>
static void run(void (*kernel)(Parameters...), int grid, int block, int cluster, size_t smem,
                const Arguments &...arguments) {
    const int failed =
        allow_dynamic_smem(kernel, smem) || launch(kernel, dim3(grid), dim3(block), dim3(cluster),
                                                   smem, cudaStream_t(nullptr), arguments...);
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

inline std::string box_at(int row, int column) {
    return "box at (" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

inline uint16_t bits_of(float value) {
    const bf16 rounded = __float2bfloat16(value);
    return *reinterpret_cast<const uint16_t *>(&rounded);
}

// A matrix [rows][columns] whose elements are the numbers from 1 on, as bits.
inline std::vector<uint16_t> numbered(int rows, int columns) {
    std::vector<uint16_t> matrix(rows * columns);
    for (int i = 0; i < rows * columns; ++i)
        matrix[i] = uint16_t(i + 1);
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
