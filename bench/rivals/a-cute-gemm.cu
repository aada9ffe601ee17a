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

// CuTe turns this warning on. A step names the fields that it needs; the others are 0.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using Config = config::GemmConfig<cute::half_t, 128, 128, 32, 3>;

static const auto kernel = gemm_multi_stage<Config>;

static int prepare(const problem *, void **) {
    return allow_dynamic_smem(kernel, Config::kShmSize);
}

static int launch(const problem *p, void *) {
    return launch(kernel, dim3(p->n / Config::kTileN, p->m / Config::kTileM),
                  dim3(Config::kThreadNum), dim3(1), Config::kShmSize, p->stream, p->d, p->a, p->b,
                  p->m, p->n, p->k);
}

static const step rival = {
    .name = "a-cute-gemm",
    .idea = "cute-gemm's multistage kernel, commit " PEER_COMMIT,
    .computes = GEMM_FP16,
    .fp16_sums = true,
    .min_compute_capability = 80,
    .max_compute_capability = 999,
    .multiple_m = Config::kTileM,
    .multiple_n = Config::kTileN,
    .multiple_k = Config::kTileK * (Config::kStage - 1), // before its loop it loads this much
    .prepare = prepare,
    .launch = launch,
};

int main(int argc, char **argv) { return step_main(&rival, argc, argv); }
