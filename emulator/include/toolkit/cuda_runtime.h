// CUDA C++ for a plain C++ compiler: the keywords, the built-in variables, and the functions that
// kernels call, on the emulated device. (CUDA C++ Programming Guide: C++ Language Extensions.)
//
// Functions that a kernel calls know the line that called them, so that a report can name it.
#pragma once

// Before the keywords below, which the standard library must not see. __noinline__, which CUDA has
// too, is not one of them: the standard library uses that word for itself.
#include <array>
#include <bit>
#include <math.h>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdio.h>
#include <stdlib.h>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/together.h"
#include "emulator/runtime.h"
#include <cuda_runtime_api.h>
#include <device_atomic_functions.h>
#include <vector_types.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __managed__
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// The linker collects these variables; the scheduler gives each CTA its own copy of their bytes.
#define __shared__ static __attribute__((section("shared_memory")))

// Of the running thread: the scheduler sets it at every switch.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
constexpr int warpSize = 32;

// ---------------------------------------------------------------------------- threads together
// Waits for all threads of the CTA.
inline void __syncthreads(EMULATOR_SITE) { emulator::syncthreads(where); }

// The same, and how many threads have the predicate, whether any has, whether all have.
inline int __syncthreads_count(int predicate, EMULATOR_SITE) {
    return emulator::barrier_sync_count(0, emulator::ALL_THREADS, predicate != 0, where);
}
inline int __syncthreads_or(int predicate, EMULATOR_SITE) {
    return __syncthreads_count(predicate, where) > 0;
}
inline int __syncthreads_and(int predicate, EMULATOR_SITE) {
    return __syncthreads_count(!predicate, where) == 0;
}

// griddepcontrol. (CUDA C++ Programming Guide: Programmatic Dependent Launch.)
inline void cudaGridDependencySynchronize() { emulator::wait_for_launch_before(); }
inline void cudaTriggerProgrammaticLaunchCompletion() {}

// Waits for the lanes of `mask`, and orders their accesses to memory.
inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_SITE) {
    emulator::warp_sync(mask, where);
}

// Lets other threads go first; there is no time here.
inline void __nanosleep(unsigned) { emulator::sleep(); }

namespace emulator {
// A shuffle of any type of 2, 4 or 8 bytes, in segments of `width` lanes, a power of two.
template <typename T>
T shuffle(Shuffle how, unsigned mask, T value, int operand, int width, Site where) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "of 2, 4 or 8 bytes");
    using Bits =
        std::conditional_t<sizeof(T) == 8, std::uint64_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    const std::uint64_t bits = std::bit_cast<Bits>(value);
    const unsigned clamp = (32u - unsigned(width)) << 8 | (how == Shuffle::UP ? 0 : 31);
    bool is_inside;
    return std::bit_cast<T>(
        Bits(warp_shuffle(how, mask, bits, unsigned(operand), clamp, is_inside, where)));
}
} // namespace emulator

// The value of the given lane of the warp, within each `width` lanes; of the lane `delta` below or
// above, the own value if there is none; of the lane whose number differs in the bits of `bits`.
// (CUDA C++ Programming Guide: Warp Shuffle Functions.)
#define EMULATOR_SHUFFLE(name, how, Operand, operand)                                              \
    template <typename T>                                                                          \
    T name(unsigned mask, T value, Operand operand, int width = warpSize, EMULATOR_SITE) {         \
        return emulator::shuffle(emulator::Shuffle::how, mask, value, int(operand), width, where); \
    }
EMULATOR_SHUFFLE(__shfl_sync, INDEX, int, lane)
EMULATOR_SHUFFLE(__shfl_up_sync, UP, unsigned, delta)
EMULATOR_SHUFFLE(__shfl_down_sync, DOWN, unsigned, delta)
EMULATOR_SHUFFLE(__shfl_xor_sync, XOR, int, bits)
#undef EMULATOR_SHUFFLE

// Votes among the lanes of `mask`. (CUDA C++ Programming Guide: Warp Vote Functions.)
inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::warp_vote("__ballot_sync", mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::warp_vote("__any_sync", mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::warp_vote("__all_sync", mask, predicate == 0, where) == 0;
}
inline unsigned __activemask() { return emulator::warp_active(); }

// Over the lanes of `mask`. (CUDA C++ Programming Guide: Warp Reduce Functions.)
#define EMULATOR_REDUCE(name, T, how)                                                              \
    inline T name(unsigned mask, T value, EMULATOR_SITE) {                                         \
        return T(emulator::warp_reduce(emulator::Reduction::how, mask, unsigned(value), where));   \
    }
#define EMULATOR_REDUCES(T, suffix)                                                                \
    EMULATOR_REDUCE(__reduce_add_sync, T, ADD)                                                     \
    EMULATOR_REDUCE(__reduce_min_sync, T, MIN_##suffix)                                            \
    EMULATOR_REDUCE(__reduce_max_sync, T, MAX_##suffix)
EMULATOR_REDUCES(unsigned, U32)
EMULATOR_REDUCES(int, S32)
EMULATOR_REDUCE(__reduce_and_sync, unsigned, AND)
EMULATOR_REDUCE(__reduce_or_sync, unsigned, OR)
EMULATOR_REDUCE(__reduce_xor_sync, unsigned, XOR)
#undef EMULATOR_REDUCES
#undef EMULATOR_REDUCE

// ---------------------------------------------------------------------------- memory
// Loads and stores with a cache operator: caches have no effect here.
#define EMULATOR_CACHED(load, store)                                                               \
    template <typename T>                                                                          \
    __forceinline__ T load(const T *address) {                                                     \
        return *address;                                                                           \
    }                                                                                              \
    template <typename T>                                                                          \
    __forceinline__ void store(T *address, std::type_identity_t<T> value) {                        \
        *address = value;                                                                          \
    }
EMULATOR_CACHED(__ldca, __stwb)
EMULATOR_CACHED(__ldcg, __stcg)
EMULATOR_CACHED(__ldcs, __stcs)
EMULATOR_CACHED(__ldcv, __stwt)
#undef EMULATOR_CACHED
template <typename T>
__forceinline__ T __ldg(const T *address) {
    const emulator::ConstantRead reading;
    return *address;
}

// The 32-bit shared address of an object in the CTA's shared memory; a global address is generic.
inline size_t __cvta_generic_to_shared(const void *object, EMULATOR_SITE) {
    return emulator::shared_address(object, where);
}
inline size_t __cvta_generic_to_global(const void *object) { return size_t(object); }

// ---------------------------------------------------------------------------- numbers
// The bits of a float, and the float of these bits.
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }

// Bits of a number: how many are set, leading zeros, and the place of the lowest, from 1 on.
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(unsigned(bits)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }

// The same of 64 bits; the upper half of a product.
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __clzll(long long bits) { return std::countl_zero((unsigned long long)(bits)); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
inline int __mul24(int a, int b) { return a * b; }
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }

// The sum and the products of four bytes.
template <typename Bytes, typename Sum>
requires(sizeof(Bytes) == 4) Sum __dp4a(Bytes a, Bytes b, Sum sum) {
    using Byte = std::conditional_t<std::is_signed_v<Sum>, signed char, unsigned char>;
    const auto x = std::bit_cast<std::array<Byte, 4>>(a), y = std::bit_cast<std::array<Byte, 4>>(b);
    for (int i = 0; i < 4; ++i)
        sum += x[i] * y[i];
    return sum;
}

// Faster on a GPU and less exact; or with the rounding in their names.
// clang-format off
#define EMULATOR_NUMBERS(is) \
    is(float, __expf, std::exp(a)) is(float, __exp10f, std::pow(10.0f, a)) is(float, __logf, std::log(a)) \
    is(float, __log2f, std::log2(a)) is(float, __log10f, std::log10(a)) is(float, __sinf, std::sin(a)) \
    is(float, __cosf, std::cos(a)) is(float, __tanf, std::tan(a)) is(float, __frcp_rn, 1 / a) \
    is(float, __saturatef, a > 0 ? std::fmin(a, 1.0f) : 0) is(float, __fsqrt_rn, std::sqrt(a)) \
    is(float, __frsqrt_rn, 1 / std::sqrt(a)) is(float, rsqrtf, 1 / std::sqrt(a)) \
    is(int, __float2int_rn, int(std::nearbyint(a))) is(int, __float2int_rz, int(a)) \
    is(int, __float2int_rd, int(std::floor(a))) is(int, __float2int_ru, int(std::ceil(a))) \
    is(unsigned, __float2uint_rn, unsigned(std::nearbyint(a))) is(unsigned, __float2uint_rz, unsigned(a))
#define EMULATOR_NUMBER(Result, name, result) inline Result name(float a) { return result; }
#define EMULATOR_PAIRS(is) \
    is(__powf, std::pow(a, b)) is(__fdividef, a / b) is(__fadd_rn, a + b) is(__fsub_rn, a - b) \
    is(__fmul_rn, a * b) is(__fdiv_rn, a / b)
#define EMULATOR_PAIR(name, result) inline float name(float a, float b) { return result; }
EMULATOR_NUMBERS(EMULATOR_NUMBER)
EMULATOR_PAIRS(EMULATOR_PAIR)
// clang-format on
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __int2float_rn(int value) { return float(value); }
inline float __uint2float_rn(unsigned value) { return float(value); }

// The smaller and the larger one, of two numbers of any types.
template <typename A, typename B, typename Both = decltype(A() + B())>
requires std::is_arithmetic_v<Both>
constexpr Both min(A a, B b) { return emulator::atomic::smaller(Both(a), Both(b)); }
template <typename A, typename B, typename Both = decltype(A() + B())>
requires std::is_arithmetic_v<Both>
constexpr Both max(A a, B b) { return emulator::atomic::larger(Both(a), Both(b)); }

// A step of the emulator counts 256. (Guide: Time Function.)
inline long long clock64() { return (long long)(emulator::next_step()) << 8; }

// ---------------------------------------------------------------------------- launches
enum cudaLaunchAttributeID {
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6
};

union cudaLaunchAttributeValue {
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
};

struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};

struct cudaLaunchConfig_st {
    dim3 gridDim;
    dim3 blockDim;
    size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute *attrs = nullptr;
    unsigned numAttrs = 0;
};
using cudaLaunchConfig_t = cudaLaunchConfig_st;

namespace emulator {
// The address of a pointer of any type.
struct PointerTo {
    void **address;

    template <typename T>
    PointerTo(T **address) : address(reinterpret_cast<void **>(address)) {}
};

// A kernel and what it is called with.
template <typename... Parameters>
struct KernelCall {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> parameters;

    // Calls it with a copy of the parameters. The copy is not a kernel's memory access: the hooks
    // of accesses.cpp must not see it.
    template <std::size_t... INDEX>
    __attribute__((no_sanitize("thread"))) void call(std::index_sequence<INDEX...>) const {
        kernel(std::get<INDEX>(parameters)...);
    }
    __attribute__((no_sanitize("thread"))) static void call(const void *self) {
        static_cast<const KernelCall *>(self)->call(std::index_sequence_for<Parameters...>());
    }
};
} // namespace emulator

// The C functions, for typed pointers; host memory, and memory that both see.
#define EMULATOR_ALLOCATE(name, same, ...)                                                         \
    inline cudaError_t name(emulator::PointerTo memory, size_t bytes __VA_OPT__(, ) __VA_ARGS__) { \
        return same(memory.address, bytes);                                                        \
    }
EMULATOR_ALLOCATE(cudaMalloc, cudaMalloc)
EMULATOR_ALLOCATE(cudaMallocAsync, cudaMalloc, cudaStream_t)
EMULATOR_ALLOCATE(cudaMallocHost, cudaMallocHost, unsigned = 0)
EMULATOR_ALLOCATE(cudaHostAlloc, cudaMallocHost, unsigned = 0)
EMULATOR_ALLOCATE(cudaMallocManaged, cudaMallocManaged, unsigned = 0)
#undef EMULATOR_ALLOCATE
template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
// What is no copy here, and other forms of functions above.
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr) {
    return cudaSuccess;
}
inline cudaError_t cudaHostGetDevicePointer(emulator::PointerTo to, void *memory, unsigned) {
    return *to.address = memory, cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned) { return cudaEventCreate(event); }
inline constexpr cudaError_t (&cudaEventCreateWithFlags)(cudaEvent_t *, unsigned) = cudaEventCreate;
inline constexpr auto &cudaEventQuery = cudaEventSynchronize;
inline constexpr auto &cudaStreamQuery = cudaStreamSynchronize;
inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int) {
    return cudaStreamCreateWithFlags(stream, flags);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    return *least = *greatest = 0, cudaSuccess;
}
inline cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function,
                                           unsigned long long flags,
                                           cudaDriverEntryPointQueryResult *result = nullptr) {
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
// What has been launched on the stream has ended. (Runtime: Stream Management.)
#define CUDART_CB
using cudaHostFn_t = void (*)(void *);
using cudaStreamCallback_t = void (*)(cudaStream_t, cudaError_t, void *);
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void *data) {
    return call(data), cudaSuccess;
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data,
                                         unsigned) {
    return call(stream, cudaSuccess, data), cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void *memory, cudaStream_t) { return cudaFree(memory); }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
// Rows of `width` bytes, each at a multiple of 512.
inline cudaError_t cudaMallocPitch(emulator::PointerTo memory, size_t *pitch, size_t width,
                                   size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(memory, *pitch * height);
}
inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; ++row)
        error = cudaMemcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch,
                           width, kind);
    return error;
}
inline cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width,
                                size_t height) {
    cudaError_t error = cudaSuccess;
    for (size_t row = 0; row < height && error == cudaSuccess; ++row)
        error = cudaMemset((char *)memory + row * pitch, value, width);
    return error;
}

// To and from a __device__ or __constant__ variable: here one of this process.
template <typename T>
cudaError_t cudaGetSymbolAddress(void **address, T &symbol) {
    *address = const_cast<void *>(static_cast<const volatile void *>(&symbol));
    return cudaSuccess;
}
template <typename T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    const cudaError_t error = emulator::check_symbol(offset, bytes, sizeof(T));
    return error ? error : cudaMemcpy((char *)(&symbol) + offset, from, bytes, kind);
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t = nullptr) {
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <typename T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    const cudaError_t error = emulator::check_symbol(offset, bytes, sizeof(T));
    return error ? error : cudaMemcpy(to, (const char *)(&symbol) + offset, bytes, kind);
}

// How many CTAs of the kernel fit on a multiprocessor by their threads and shared memory.
template <typename Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel, int threads,
                                                          size_t shared) {
    return emulator::blocks_per_multiprocessor(blocks, threads, shared);
}
template <typename Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, Kernel kernel,
                                               size_t shared = 0, int limit = 0) {
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    const cudaError_t error = emulator::blocks_per_multiprocessor(grid, *block, shared);
    *grid *= emulator::MULTIPROCESSORS;
    return error;
}

// How many clusters of the launch can be resident at once.
template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, void (*kernel)(Parameters...),
                                           const cudaLaunchConfig_t *config) {
    return emulator::most_active_clusters(clusters, reinterpret_cast<const void *>(kernel),
                                          *config);
}

// Runs the kernel over the whole grid before it returns. Each thread gets its own parameters.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments &&...arguments) {
    using Call = emulator::KernelCall<Parameters...>;
    const Call call{kernel, {std::forward<Arguments>(arguments)...}};
    return emulator::launch_kernel(*config, reinterpret_cast<const void *>(kernel), Call::call,
                                   &call, sizeof call);
}

namespace emulator {
// Calls the kernel with what is at the addresses.
template <typename... Parameters>
cudaError_t launch_by_addresses(void (*kernel)(Parameters...), const cudaLaunchConfig_t &config,
                                void **arguments) {
    const auto launch = [&]<std::size_t... INDEX>(std::index_sequence<INDEX...>) {
        return cudaLaunchKernelEx(&config, kernel, *static_cast<Parameters *>(arguments[INDEX])...);
    };
    return launch(std::index_sequence_for<Parameters...>());
}

// The same by an address without its type: of kernels that were cast to void *.
using Launch = cudaError_t (*)(const void *, const cudaLaunchConfig_t &, void **);
inline std::map<const void *, Launch> launches_of_casts;
inline cudaError_t launch_by_addresses(const void *kernel, const cudaLaunchConfig_t &config,
                                       void **arguments) {
    const auto known = launches_of_casts.find(kernel);
    return known == launches_of_casts.end() ? unknown_kernel()
                                            : known->second(kernel, config, arguments);
}

// A cast of a pointer to void *.
inline constexpr struct WithoutType {
} without_type;
template <typename T>
void *operator->*(WithoutType, T value) {
    if constexpr (std::is_function_v<std::remove_pointer_t<T>>)
        launches_of_casts[(void *)value] = [](auto *kernel, auto &config, void **arguments) {
            return launch_by_addresses(T(const_cast<void *>(kernel)), config, arguments);
        };
    return (void *)value;
}
} // namespace emulator

// Launches with the addresses of the parameters. (Runtime: Execution Control.)
template <typename Kernel>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, Kernel *kernel,
                                void **arguments) {
    return emulator::launch_by_addresses(kernel, *config, arguments);
}
template <typename Kernel>
cudaError_t cudaLaunchKernel(Kernel *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared = 0, cudaStream_t stream = nullptr) {
    return emulator::launch_by_addresses(kernel, {grid, block, shared, stream}, arguments);
}
template <typename Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared = 0, cudaStream_t stream = nullptr) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
