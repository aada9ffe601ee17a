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

/* The share of the peak that one sample comes to. */
static double share_of(const timing *timing, const device_info *info, double seconds, double ghz) {
    const double flop_per_cycle =
        (double)info->sms * tensor_core_flop_per_cycle(info->compute_capability);
    return timing->work.bytes > 0 ? timing->work.bytes / seconds / info->memory_bytes_per_second
                                  : timing->work.flop / (seconds * ghz * 1e9 * flop_per_cycle);
}

timing_summary timing_summarize(const timing *timing, int contender, const device_info *info) {
    double *const *of = timing->samples[contender].of;
    const work *work = &timing->work;
    const double units = work->bytes > 0 ? work->bytes * 1e-9 : work->flop * 1e-12;
    const size_t rounds = timing->rounds;
    timing_summary result = {.rate = {NAN, NAN, NAN, 0}, .share = NAN};
    for (int i = 0; i < MEASURES; ++i) {
        result.of[i] = median(of[i], rounds);
    }
    double *scratch = rounds == 0 ? NULL : malloc(rounds * sizeof *scratch);
    for (size_t i = 0; i < rounds && scratch != NULL; ++i) {
        scratch[i] = units / of[SECONDS][i];
    }
    if (scratch != NULL) {
        result.rate = summarize(scratch, rounds);
    }
    for (size_t i = 0; i < rounds && scratch != NULL; ++i) {
        scratch[i] = share_of(timing, info, of[SECONDS][i], of[CLOCK_GHZ][i]);
    }
    if (scratch != NULL && (contender != CONTENDER_STEP || !work->on_cuda_cores)) {
        result.share = median(scratch, rounds);
    }
    free(scratch);
    return result;
}

double *timing_make_ratios(const timing *timing, int contender, summary *result) {
    double *ratios = malloc(timing->rounds * sizeof *ratios);
    *result = (summary){NAN, NAN, NAN, 0};
    for (size_t i = 0; i < timing->rounds && ratios != NULL; ++i) {
        ratios[i] = timing->samples[contender].of[SECONDS][i] /
                    timing->samples[CONTENDER_STEP].of[SECONDS][i];
    }
    if (ratios != NULL) {
        *result = summarize(ratios, timing->rounds);
    }
    return ratios;
}
