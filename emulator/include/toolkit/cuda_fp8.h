// e4m3, and its conversions, which saturate. Programs that use e5m2 or __NV_NOSAT do not compile.
// (CUDA Math API: FP8 Intrinsics.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "formats/half.h"

using __nv_fp8_storage_t = unsigned char;
enum __nv_saturation_t { __NV_SATFINITE = 1 };
enum __nv_fp8_interpretation_t { __NV_E4M3 };

// The nearest e4m3, ties to even; past 448, 448.
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t,
                                                __nv_fp8_interpretation_t) {
    return emulator::e4m3_of_float(value);
}
// The same, rounded once.
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t,
                                                 __nv_fp8_interpretation_t) {
    return emulator::e4m3_of_float(emulator::narrow_for_rounding(value));
}

struct __nv_fp8_e4m3 {
    __nv_fp8_storage_t __x;

    __nv_fp8_e4m3() = default;
    explicit __nv_fp8_e4m3(double value)
        : __x(__nv_cvt_double_to_fp8(value, __NV_SATFINITE, __NV_E4M3)) {}
    explicit operator float() const { return emulator::float_of_e4m3(__x); }
};
