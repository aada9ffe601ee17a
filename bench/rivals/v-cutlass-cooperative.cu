// CUTLASS's persistent kernel of two cooperating consumers: a 128 x 256 x 64 tile, clusters of two.
#include "cutlass.cuh"

using Rival = CutlassRival<cute::Shape<cute::_128, cute::_256, cute::_64>,
                           cute::Shape<cute::_2, cute::_1, cute::_1>,
                           cutlass::gemm::KernelTmaWarpSpecializedCooperative,
                           cutlass::epilogue::TmaWarpSpecializedCooperative>;

HOPPER_RIVAL("v-cutlass-cooperative", "CUTLASS, 128 x 256 cooperative", 1, Rival::ALIGNED,
             Rival::ALIGNED)
