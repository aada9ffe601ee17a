// e4m3 and e5m2, and their conversions, which saturate. Programs that use __NV_NOSAT do not
// compile. (CUDA Math API: FP8 Intrinsics.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "formats/half.h"

using __nv_fp8_storage_t = unsigned char;
enum __nv_saturation_t { __NV_SATFINITE = 1 };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// The nearest, ties to even; past the largest, 448 or 57344, that.
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t,
                                                __nv_fp8_interpretation_t type) {
    return type == __NV_E4M3 ? emulator::e4m3_of_float(value) : emulator::e5m2_of_float(value);
}
// The same, rounded once.
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t how,
                                                 __nv_fp8_interpretation_t type) {
    return __nv_cvt_float_to_fp8(emulator::narrow_for_rounding(value), how, type);
}

#define EMULATOR_FP8(name, type)                                                                   \
    struct __nv_fp8_##name {                                                                       \
        __nv_fp8_storage_t __x;                                                                    \
        __nv_fp8_##name() = default;                                                               \
        explicit __nv_fp8_##name(double value)                                                     \
            : __x(__nv_cvt_double_to_fp8(value, __NV_SATFINITE, type)) {}                          \
        explicit operator float() const { return emulator::float_of_##name(__x); }                 \
    };
EMULATOR_FP8(e4m3, __NV_E4M3)
EMULATOR_FP8(e5m2, __NV_E5M2)
