// CUDA C++ for a plain C++ compiler: the keywords, the built-in variables, and the functions that
// the rungs call, on the emulated device. (CUDA C++ Programming Guide: C++ Language Extensions.)
//
// Functions that a kernel calls know the line that called them, so that a report can name it.
#pragma once

// Before the keywords below, which the standard library must not see. __noinline__, which CUDA has
// too, is not one of them: the standard library uses that word for itself.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/barriers.h"
#include "emulator/runtime.h"
#include "emulator/warp.h"
#include <cuda_runtime_api.h>
#include <vector_types.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
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

// Waits for the lanes of `mask`, and orders their accesses to memory.
inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_SITE) {
    emulator::warp_sync(mask, where);
}

// Lets other threads go first; there is no time here.
inline void __nanosleep(unsigned) { emulator::sleep(); }

namespace emulator {

// A shuffle of any type of 4 or 8 bytes.
template <typename T>
T shuffle(Shuffle how, unsigned mask, T value, int operand, int width, Site where) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const std::uint64_t bits = std::bit_cast<Bits>(value);
    return std::bit_cast<T>(Bits(warp_shuffle(how, mask, bits, operand, width, where)));
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
    return emulator::warp_ballot(mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::warp_ballot(mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATOR_SITE) {
    return emulator::warp_ballot(mask, predicate != 0, where) == mask;
}

// ---------------------------------------------------------------------------- memory

// A load through the read-only cache, and a store through the L2 to memory: caches have no effect
// here.
template <typename T>
__forceinline__ T __ldg(const T *address) {
    return *address;
}
template <typename T>
__forceinline__ void __stwt(T *address, T value) {
    *address = value;
}

// Adds to *address in one step and returns what was there; orders nothing else. (CUDA C++
// Programming Guide: Atomic Functions.)
template <typename T>
T atomicAdd(T *address, std::type_identity_t<T> value, EMULATOR_SITE) {
    return emulator::atomic_add(address, value, where);
}

// ---------------------------------------------------------------------------- numbers

// The bits of a float, and the float of these bits.
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }

// The smaller and the larger one.
inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long min(long long a, long long b) { return b < a ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }

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

// The C functions, for typed pointers.
template <typename T>
cudaError_t cudaMalloc(T **memory, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void **>(memory), bytes);
}
template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}

// Writes to a __device__ or __constant__ variable: here one of this process.
template <typename T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes) {
    return cudaMemcpy(&symbol, from, bytes, cudaMemcpyHostToDevice);
}

// How many clusters of the launch can be resident at once.
template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, void (*kernel)(Parameters...),
                                           const cudaLaunchConfig_t *config) {
    return cudaError_t(
        emulator::most_active_clusters(clusters, reinterpret_cast<const void *>(kernel), *config));
}

namespace emulator {

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

// Runs the kernel over the whole grid before it returns. Each thread gets its own parameters.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               Arguments &&...arguments) {
    using Call = emulator::KernelCall<Parameters...>;
    const Call call{kernel, {std::forward<Arguments>(arguments)...}};
    return cudaError_t(emulator::launch_kernel(*config, reinterpret_cast<const void *>(kernel),
                                               Call::call, &call));
}
