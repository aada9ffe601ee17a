// bf16, the upper half of an fp32, whose arithmetic is that of fp32, rounded after each operation.
// (CUDA Math API: Bfloat16 Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "formats/half.h"

struct __nv_bfloat16 : emulator::Bfloat {
    using Narrow::Narrow;
};
struct __nv_bfloat162 : emulator::NarrowPair<__nv_bfloat16> {
    using NarrowPair::NarrowPair;
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
// + - * / and their assignments; __hadd, __hfma2, __hmax; __float2bfloat16, __bfloat1622float2.
EMULATOR_NARROW_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
EMULATOR_NARROW_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
