// fp16, and arithmetic in it: each operation rounds once, to nearest even. (CUDA Math API: Half
// Precision Intrinsics.)
#pragma once

#include <cuda_runtime.h>

#include "formats/half.h"

struct __half : emulator::Half {
    using Narrow::Narrow;
};
struct __half2 : emulator::NarrowPair<__half> {
    using NarrowPair::NarrowPair;
};
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
// + - * / and their assignments; __hadd, __hfma2, __hmax and the like; __float2half,
// __half22float2.
EMULATOR_NARROW_FUNCTIONS(__half, __half2)
EMULATOR_NARROW_CONVERSIONS(__half, __half2, half, half2)
