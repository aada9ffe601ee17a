// Programs that were not written for the emulator: what translate/ makes of their CUDA C++. It is
// included before the program's first line.
//
// - kernel<<<grid, block, smem, stream>>>(arguments) becomes
//   emulator::launching(kernel, cudaLaunchConfig_t(grid, block, smem, stream))(arguments).
// - A kernel begins with `if (emulator::describes_kernel(cluster)) return;`: a launch asks it for
//   its __cluster_dims__ first.
//   And with a line for each __grid_constant__ parameter.
// - The __shared__ variables of a declaration are the members of a struct that static_shared()
//   places, or extern_shared() if they are extern.
#pragma once

#include "emulator/runtime.h"

#include <cuda_runtime.h>

// What nvcc includes before a program.
#include <algorithm>
#include <assert.h>
#include <new>
#include <time.h>

// The translation comes after the preprocessor, and has to see these words.
#undef __global__
#undef __launch_bounds__
#undef __cluster_dims__
#undef __grid_constant__
#undef __forceinline__
#undef __shared__

namespace emulator {
inline const bool begun_translated_program = begin_translated_program();

// The __shared__ variables of one declaration, by their type.
template <typename Variables>
inline char shared_variables_of = 0;
template <typename Variables>
Variables &static_shared(EMULATOR_SITE) {
    return *static_cast<Variables *>(static_shared(&shared_variables_of<Variables>,
                                                   sizeof(Variables), alignof(Variables), where));
}

// The current CTA's dynamic shared memory, however large the launch made it.
template <std::size_t ALIGNMENT>
inline const bool declared_dynamic_shared = declare_dynamic_shared(ALIGNMENT);
template <typename Variables, typename Array>
auto &extern_shared(EMULATOR_SITE) {
    using Elements = std::remove_extent_t<Array>;
    using Whole = std::conditional_t<std::is_array_v<Array>, Elements[], Array>;
    (void)&declared_dynamic_shared<alignof(Variables)>;
    return *static_cast<Whole *>(dynamic_shared(0, where));
}

// What launches a kernel that is a function.
template <typename... Parameters>
auto launching(void (*kernel)(Parameters...), const cudaLaunchConfig_t &config) {
    return [kernel, config](Parameters... parameters) {
        cudaLaunchKernelEx(&config, kernel, std::move(parameters)...);
    };
}
// The same of a kernel that has to be chosen by its arguments: a generic lambda that calls it.
template <typename Caller>
requires std::is_class_v<Caller>
auto launching(Caller caller, const cudaLaunchConfig_t &config) {
    return [caller, config](const auto &...arguments) {
        const auto call = [caller, arguments...] { caller(arguments...); };
        using Call = decltype(call);
        launch_kernel(
            config, nullptr, [](const void *context) { (*static_cast<Call *>(context))(); }, &call,
            sizeof call);
    };
}
} // namespace emulator
