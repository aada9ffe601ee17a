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

static void rates_of(const timing *timing, const contender_samples *samples, double *rates) {
    const work *work = &timing->work;
    const double units = work->bytes > 0 ? work->bytes * 1e-9 : work->flop * 1e-12;
    for (size_t i = 0; i < timing->rounds; ++i) {
        rates[i] = units / samples->seconds[i];
    }
}

static void memory_shares_of(const timing *timing, const contender_samples *samples,
                             const device_info *info, double *shares) {
    for (size_t i = 0; i < timing->rounds; ++i) {
        shares[i] = timing->work.bytes / samples->seconds[i] / info->memory_bytes_per_second;
    }
}

static void tensor_shares_of(const timing *timing, const contender_samples *samples,
                             const device_info *info, double *shares) {
    const double flop_per_cycle =
        (double)info->sms * tensor_core_flop_per_cycle(info->compute_capability);
    for (size_t i = 0; i < timing->rounds; ++i) {
        const double cycles = samples->seconds[i] * samples->clock_ghz[i] * 1e9;
        shares[i] = timing->work.flop / (cycles * flop_per_cycle);
    }
}

timing_summary timing_summarize(const timing *timing, int contender, const device_info *info) {
    const contender_samples *samples = &timing->samples[contender];
    const size_t rounds = timing->rounds;
    timing_summary result = {.seconds = median(samples->seconds, rounds),
                             .clock_ghz = median(samples->clock_ghz, rounds),
                             .watts = median(samples->watts, rounds),
                             .joules = median(samples->joules, rounds),
                             .rate = {NAN, NAN, NAN, 0},
                             .share = NAN};
    double *scratch = rounds == 0 ? NULL : malloc(rounds * sizeof *scratch);
    if (scratch != NULL) {
        rates_of(timing, samples, scratch);
        result.rate = summarize(scratch, rounds);
        if (timing->work.bytes > 0) {
            memory_shares_of(timing, samples, info, scratch);
        } else {
            tensor_shares_of(timing, samples, info, scratch);
        }
        const bool idle = contender == CONTENDER_STEP && timing->work.on_cuda_cores;
        result.share = idle ? NAN : median(scratch, rounds);
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

double *timing_make_ratios(const timing *timing, int contender, summary *result) {
    double *ratios = malloc(timing->rounds * sizeof *ratios);
    *result = (summary){NAN, NAN, NAN, 0};
    if (ratios != NULL) {
        timing_ratios(timing, contender, ratios);
        *result = summarize(ratios, timing->rounds);
    }
    return ratios;
}
