// CUTLASS's persistent kernel of two cooperating consumers: a 128 x 256 x 64 tile, clusters of two.
#include "cutlass.cuh"

using Rival = CutlassRival<cute::Shape<cute::_128, cute::_256, cute::_64>,
                           cute::Shape<cute::_2, cute::_1, cute::_1>,
                           cutlass::gemm::KernelTmaWarpSpecializedCooperative,
                           cutlass::epilogue::TmaWarpSpecializedCooperative>;

static const step rival = {
    .name = "v-cutlass-cooperative",
    .idea = "CUTLASS, 128 x 256 cooperative, commit " PEER_COMMIT,
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
