/* The arithmetic on timing results: no GPU needed. */
#include <math.h>
#include <stdlib.h>

#include "harness/timing.h"

double tensor_core_flop_per_cycle(int compute_capability) {
    /* NVIDIA H100 Tensor Core GPU Architecture (white paper): four tensor cores per SM, each with
     * 512 fused multiply-adds of dense fp16 or bf16 per cycle. The H200 has the same SM. */
    if (compute_capability == 90) {
        return 4096;
    }
    /* NVIDIA A100 Tensor Core GPU Architecture (white paper): four with 256 each. */
    return compute_capability == 80 ? 2048 : NAN;
}

static void tflops_of(const timing *timing, const contender_samples *samples, double *tflops) {
    for (size_t i = 0; i < timing->rounds; ++i) {
        tflops[i] = timing->flop / samples->seconds[i] * 1e-12;
    }
}

static void shares_of(const timing *timing, const contender_samples *samples,
                      const device_info *info, double *shares) {
    const double flop_per_cycle =
        (double)info->sms * tensor_core_flop_per_cycle(info->compute_capability);
    for (size_t i = 0; i < timing->rounds; ++i) {
        const double cycles = samples->seconds[i] * samples->clock_ghz[i] * 1e9;
        shares[i] = timing->flop / (cycles * flop_per_cycle);
    }
}

timing_summary timing_summarize(const timing *timing, int contender, const device_info *info) {
    const contender_samples *samples = &timing->samples[contender];
    const size_t rounds = timing->rounds;
    timing_summary result = {.seconds = median(samples->seconds, rounds),
                             .clock_ghz = median(samples->clock_ghz, rounds),
                             .watts = median(samples->watts, rounds),
                             .joules = median(samples->joules, rounds),
                             .tflops = {NAN, NAN, NAN, 0},
                             .tensor_core_share = NAN};
    double *scratch = rounds == 0 ? NULL : malloc(rounds * sizeof *scratch);
    if (scratch != NULL) {
        tflops_of(timing, samples, scratch);
        result.tflops = summarize(scratch, rounds);
        shares_of(timing, samples, info, scratch);
        result.tensor_core_share = median(scratch, rounds);
        free(scratch);
    }
    return result;
}

void timing_ratios(const timing *timing, int contender, double *ratios) {
    for (size_t i = 0; i < timing->rounds; ++i) {
        ratios[i] =
            timing->samples[contender].seconds[i] / timing->samples[CONTENDER_STEP].seconds[i];
    }
}
