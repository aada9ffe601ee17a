// What the programs for a GPU are made of. Matrices hold different bits in every element, so that
// one in the wrong place is seen; what must not be written holds UNWRITTEN.
#pragma once

#include "../../emulator/tests/test.h"
#include "device/launch.cuh"
#include "formats/number.h"

#include <functional>
#include <math.h>
#include <string.h>
#include <string>
#include <vector>

constexpr uint16_t UNWRITTEN = 0xffff;

// The output of one case: its bytes in the order in which they were read, hashed (64-bit FNV-1a).
struct Digest {
    const char *name;
    uint64_t bytes = 0;
    uint64_t fnv1a = 0xcbf29ce484222325u;

    void add(const void *output, size_t count) {
        const unsigned char *from = static_cast<const unsigned char *>(output);
        for (size_t i = 0; i < count; ++i)
            fnv1a = (fnv1a ^ from[i]) * 0x100000001b3u;
        bytes += count;
    }
};

// Of the cases so far; the last one's is that of the case that runs.
inline std::vector<Digest> digests;

// ---------------------------------------------------------------------------- arrays

// Elements that a function makes of their places.
template <typename T, typename Make>
std::vector<T> each(size_t count, Make make) {
    std::vector<T> made;
    for (size_t i = 0; i < count; ++i)
        made.push_back(T(make(int(i))));
    return made;
}

// Numbers from 1 on as bits; 4-byte ones are large, with NaNs among them.
template <typename Bits = uint16_t>
std::vector<Bits> numbered(size_t count) {
    return each<Bits>(
        count, [](int i) { return sizeof(Bits) == 2 ? i + 1 : 0x7f800001u + i * 0x01000193u; });
}

// Small integers, each different from its neighbours; exact in fp16 and bf16, as are sums of
// products of two of them.
inline float small_integer(int i, int step) { return float(i * step % 13 - 6); }
inline std::vector<float> small_integers(size_t count, int step) {
    return each<float>(count, [=](int i) { return small_integer(i, step); });
}

template <typename T>
std::vector<T> rounded(const std::vector<float> &values, T (*round)(float)) {
    return each<T>(values.size(), [&](int i) { return round(values[i]); });
}

// sums [rows][columns] + a [rows][k] * b [columns][k]^T.
inline std::vector<float> product(const std::vector<float> &a, const std::vector<float> &b,
                                  std::vector<float> sums, size_t columns) {
    const size_t depth = b.size() / columns;
    for (size_t i = 0; i < sums.size(); ++i)
        for (size_t k = 0; k < depth; ++k)
            sums[i] += a[i / columns * depth + k] * b[i % columns * depth + k];
    return sums;
}

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

    // As an argument of a kernel, which takes bits as what they are bits of.
    template <typename Element>
    operator Element *() const {
        return reinterpret_cast<Element *>(device);
    }

    // What it holds now that the kernels are done: output of the case that runs.
    std::vector<T> read() const {
        std::vector<T> host(count);
        const cudaError_t status =
            cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
        EXPECT(status == cudaSuccess, "%s", cudaGetErrorString(status));
        digests.back().add(host.data(), count * sizeof(T));
        return host;
    }
    void expect(const std::string &what, const std::vector<T> &expected) const {
        const std::vector<T> got = read();
        for (size_t i = 0; i < expected.size(); ++i)
            EXPECT(got[i] == expected[i], "%s: element %zu is %g, not %g", what.c_str(), i,
                   double(got[i]), double(expected[i]));
    }
};

// ---------------------------------------------------------------------------- launches

// How a kernel is launched: blocks and bytes of dynamic shared memory.
struct Shape {
    int grid, block, cluster = 1;
    size_t smem = 0;
};

// An array in dynamic shared memory.
template <typename T, int COUNT>
struct Shared {
    alignas(1024) T at[COUNT];
};

// Waits for what was launched.
inline void finish(int failed) {
    const cudaError_t status = cudaDeviceSynchronize();
    EXPECT(!failed && status == cudaSuccess, "%s", cudaGetErrorString(status));
}

// Launches on the default stream and waits.
template <typename... Parameters, typename... Arguments>
void run(void (*kernel)(Parameters...), const Shape &shape, const Arguments &...arguments) {
    finish(allow_dynamic_smem(kernel, shape.smem) ||
           launch(kernel, dim3(shape.grid), dim3(shape.block), dim3(shape.cluster), shape.smem,
                  cudaStream_t(nullptr), (Parameters)(arguments)...));
}

// Runs the kernel with an array as its last argument, where it has to write what is expected.
template <typename T, typename... Parameters, typename... Arguments>
void expect_output(const std::string &what, const std::vector<T> &expected,
                   void (*kernel)(Parameters...), const Shape &shape,
                   const Arguments &...arguments) {
    const DeviceArray<T> out(expected.size(), T(-1));
    run(kernel, shape, arguments..., out);
    out.expect(what, expected);
}

// ---------------------------------------------------------------------------- cases

struct Case {
    const char *name;
    std::function<void()> body;
};

inline FILE *recording; // of --record FILE; nullptr without it

// A program's cases. Each needs a GPU of compute capability 9.0, or the emulator. With --record
// FILE `record` then writes of them, right or wrong.
inline int run_cases(
    int argc, char **argv, const std::vector<std::vector<Case>> &cases, void (*record)() = [] {}) {
    if (argc == 3 && strcmp(argv[1], "--record") == 0)
        recording = fopen(argv[2], "w");
    if (argc > 1 && recording == nullptr) {
        fprintf(stderr, "usage: %s [--record FILE], a file that can be written\n", argv[0]);
        return 2;
    }
    int major = 0;
    int minor = 0;
    const bool fits =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess &&
        major == 9 && minor == 0;
    static const Case *running;
    for (const std::vector<Case> &some : cases)
        for (const Case &one : some) {
            running = &one;
            digests.push_back({one.name});
            if (fits)
                run_case(one.name, [] { running->body(); });
            else
                skip_case(one.name, "it needs a GPU of compute capability 9.0");
        }
    if (recording != nullptr && fits)
        record();
    const bool written = recording == nullptr || fclose(recording) == 0;
    return written ? test_result() : 1;
}
