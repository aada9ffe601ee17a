// torch::Tensor for files that only wrap pointers: a main of your own calls their functions. Every
// tensor is contiguous and on the device. (PyTorch C++ API: Tensor Basics, Tensor Creation.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace torch {
using Half = __half;
using BFloat16 = __nv_bfloat16;
#define EMULATOR_SCALARS(is)                                                                       \
    is(Byte, kUInt8, std::uint8_t) is(Char, kInt8, std::int8_t) is(Int, kInt32, std::int32_t)      \
        is(Long, kInt64, std::int64_t) is(Half, kFloat16, __half) is(Float, kFloat32, float)       \
            is(Double, kFloat64, double) is(BFloat16, kBF16, __nv_bfloat16)
#define EMULATOR_SCALAR(name, other, type) name,
#define EMULATOR_SCALAR_NAMES(name, other, type)                                                   \
    constexpr ScalarType k##name = ScalarType::name, other = k##name;
enum class ScalarType { EMULATOR_SCALARS(EMULATOR_SCALAR) };
EMULATOR_SCALARS(EMULATOR_SCALAR_NAMES)
enum Device { kCPU, kCUDA };
using Sizes = std::vector<std::int64_t>;

struct TensorOptions {
    ScalarType type;

    TensorOptions(ScalarType type = kFloat) : type(type) {}
    TensorOptions dtype(ScalarType other) const { return other; }
    TensorOptions device(auto...) const { return *this; }
    ScalarType dtype() const { return type; }
    friend std::ostream &operator<<(std::ostream &out, const TensorOptions &how) {
        return out << int(how.type);
    }
};

class Tensor {
    std::shared_ptr<void> memory;
    Sizes shape;
    ScalarType type;

public:
    // Of the values there, which are the host's or the device's; or of no values.
    Tensor(const Sizes &sizes = {}, TensorOptions how = {}, const void *values = nullptr)
        : shape(sizes), type(how.type) {
        void *made = nullptr;
        cudaMalloc(&made, nbytes());
        memory = {made, cudaFree};
        if (values != nullptr)
            cudaMemcpy(made, values, nbytes(), cudaMemcpyDefault);
    }
    template <typename T = void>
    T *data_ptr() const {
        return static_cast<T *>(memory.get());
    }
    const Sizes &sizes() const { return shape; }
    std::int64_t dim() const { return std::ssize(shape); }
    std::int64_t size(std::int64_t i) const { return shape[i < 0 ? i + dim() : i]; }
    std::int64_t stride(std::int64_t i) const {
        const auto after = shape.end() - (i < 0 ? -i : dim() - i) + 1;
        return std::accumulate(after, shape.end(), std::int64_t(1), std::multiplies());
    }
    std::int64_t numel() const { return stride(-dim() - 1); }
    std::int64_t element_size() const {
#define EMULATOR_SIZE(name, other, T) type == ScalarType::name ? sizeof(T):
        return EMULATOR_SCALARS(EMULATOR_SIZE) 0;
    }
    std::size_t nbytes() const { return std::size_t(numel() * element_size()); }
    ScalarType dtype() const { return type; }
    ScalarType scalar_type() const { return type; }
    TensorOptions options() const { return type; }
    Device device() const { return kCUDA; }
    bool is_cuda() const { return true; }
    bool is_contiguous() const { return true; }
    Tensor contiguous() const { return *this; }
    Tensor to(Device) const { return *this; }
};

inline Tensor empty(const Sizes &sizes, TensorOptions how = {}) { return {sizes, how}; }
inline Tensor full(const Sizes &sizes, double value, TensorOptions how = {}) {
#define EMULATOR_FULL(name, other, T)                                                              \
    if (const Tensor made(sizes, how); how.type == ScalarType::name)                               \
        return {sizes, how, std::vector<T>(made.numel(), T(value)).data()};
    EMULATOR_SCALARS(EMULATOR_FULL)
    return {};
}
inline Tensor zeros(const Sizes &sizes, TensorOptions how = {}) { return full(sizes, 0, how); }
inline Tensor ones(const Sizes &sizes, TensorOptions how = {}) { return full(sizes, 1, how); }
inline Tensor empty_like(const Tensor &other) { return {other.sizes(), other.dtype()}; }
inline Tensor zeros_like(const Tensor &other) { return zeros(other.sizes(), other.dtype()); }
namespace cuda {
inline cudaStream_t getCurrentCUDAStream() { return nullptr; }
} // namespace cuda
} // namespace torch
namespace at = torch;
namespace c10 = torch;

#define TORCH_CHECK(condition, ...)                                                                \
    if (!(condition))                                                                              \
    throw std::runtime_error("TORCH_CHECK(" #condition ") fails")
// Python's names of functions: nothing calls this.
#define TORCH_EXTENSION_NAME extension
#define PYBIND11_MODULE(name, module)                                                              \
    template <typename Module>                                                                     \
    void python_module(Module &module)
#define TORCH_LIBRARY PYBIND11_MODULE
