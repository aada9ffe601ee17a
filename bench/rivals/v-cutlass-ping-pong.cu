// CUTLASS's persistent kernel of two consumers in turns: a 64 x 256 x 64 tile, clusters of two.
#include "cutlass.cuh"

using Rival = CutlassRival<
    cute::Shape<cute::_64, cute::_256, cute::_64>, cute::Shape<cute::_2, cute::_1, cute::_1>,
    cutlass::gemm::KernelTmaWarpSpecializedPingpong, cutlass::epilogue::TmaWarpSpecialized>;

static const step rival = {
    .name = "v-cutlass-ping-pong",
    .idea = "CUTLASS, 64 x 256 ping-pong, commit " PEER_COMMIT,
    .computes = GEMM_BF16,
    .min_compute_capability = 90,
    .max_compute_capability = 90,
    .multiple_m = 1,
    .multiple_n = Rival::ALIGNED,
    .multiple_k = Rival::ALIGNED,
    .prepare = Rival::prepare,
    .launch = Rival::launch,
    .release = Rival::release,
};

int main(int argc, char **argv) { return step_main(&rival, argc, argv); }
