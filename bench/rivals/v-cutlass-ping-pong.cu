// CUTLASS's persistent kernel of two consumers in turns: a 64 x 256 x 64 tile, clusters of two.
#include "cutlass.cuh"

using Rival = CutlassRival<
    cute::Shape<cute::_64, cute::_256, cute::_64>, cute::Shape<cute::_2, cute::_1, cute::_1>,
    cutlass::gemm::KernelTmaWarpSpecializedPingpong, cutlass::epilogue::TmaWarpSpecialized>;

HOPPER_RIVAL("v-cutlass-ping-pong", "CUTLASS, 64 x 256 ping-pong", 1, Rival::ALIGNED,
             Rival::ALIGNED)
