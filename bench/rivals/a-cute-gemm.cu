// The multistage kernel of cute-gemm (github.com/reed-lau/cute-gemm, gemm-multi-stage.cu), on
// CUTLASS's CuTe: fp16 with sums in fp16, with the configuration of its own main(). Its layouts are
// ours.
#include "rival.cuh"

#include <cublas_v2.h>
#include <cute/tensor.hpp>

// Its file is a program: its main() is not ours.
#define main cute_gemm_main
#include <gemm-multi-stage.cu>
#undef main

using Config = config::GemmConfig<cute::half_t, 128, 128, 32, 3>;

static const auto kernel = gemm_multi_stage<Config>;

struct Rival {
    int prepare(const problem *) { return allow_dynamic_smem(kernel, Config::kShmSize); }

    int launch(const problem *p) {
        return ::launch(kernel, dim3(p->n / Config::kTileN, p->m / Config::kTileM),
                        dim3(Config::kThreadNum), dim3(1), Config::kShmSize, p->stream, p->d, p->a,
                        p->b, p->m, p->n, p->k);
    }
};

int main(int argc, char **argv) {
    step rival =
        hopper_rival<Rival>("a-cute-gemm", "cute-gemm's multistage kernel, commit " PEER_COMMIT,
                            Config::kTileM, Config::kTileN,
                            // Before its loop it loads this much.
                            Config::kTileK * (Config::kStage - 1));
    rival.computes = GEMM_FP16;
    rival.fp16_sums = true;
    rival.min_compute_capability = 80;
    rival.max_compute_capability = 999;
    return step_main(&rival, argc, argv);
}
