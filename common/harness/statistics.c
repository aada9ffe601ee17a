/* The arithmetic on measurements: no GPU needed. */
#include "harness/timing.h"

#include <math.h>
#include <stdlib.h>

#include "harness/message.h"

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

double quantile(const double *values, size_t count, double q) {
    double *sorted = allocate(count, sizeof *sorted);
    double result = NAN;
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        if (isfinite(values[i])) {
            sorted[kept++] = values[i];
        }
    }
    qsort(sorted, kept, sizeof *sorted, ascending);
    if (kept > 0) {
        const double position = q * (double)(kept - 1);
        const size_t below = (size_t)position;
        const size_t above = below + 1 < kept ? below + 1 : below;
        result = sorted[below] + (position - (double)below) * (sorted[above] - sorted[below]);
    }
    free(sorted);
    return result;
}

double median(const double *values, size_t count) { return quantile(values, count, 0.5); }

summary summarize(const double *values, size_t count) {
    return (summary){median(values, count), quantile(values, count, 0.1),
                     quantile(values, count, 0.9)};
}

/* ---- of times */

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
    return timing->work.bytes > 0 ? timing->work.bytes / seconds / info->memory_bytes_per_second
                                  : timing->work.flop / (seconds * ghz * 1e9 *
                                                         peak_flop_per_cycle(&timing->work, info));
}

double peak_flop_per_cycle(const work *work, const device_info *info) {
    const double of_16_bits = info->sms * tensor_core_flop_per_cycle(info->compute_capability);
    return work->of_8_bits ? 2 * of_16_bits : of_16_bits;
}

timing_summary timing_summarize(const timing *timing, int contender, const device_info *info) {
    double *const *of = timing->samples[contender].of;
    const work *work = &timing->work;
    const double units = work->bytes > 0 ? work->bytes * 1e-9 : work->flop * 1e-12;
    const size_t rounds = timing->rounds;
    double *rates = allocate(rounds, sizeof *rates);
    double *shares = allocate(rounds, sizeof *shares);
    double *ratios = allocate(rounds, sizeof *ratios);
    timing_summary result;
    for (int i = 0; i < MEASURES; ++i) {
        result.of[i] = median(of[i], rounds);
    }
    for (size_t i = 0; i < rounds; ++i) {
        rates[i] = units / of[SECONDS][i];
        shares[i] = share_of(timing, info, of[SECONDS][i], of[CLOCK_GHZ][i]);
        ratios[i] = of[SECONDS][i] / timing->samples[CONTENDER_STEP].of[SECONDS][i];
    }
    const bool leaves_tensor_cores_idle = contender == CONTENDER_STEP && work->on_cuda_cores;
    result.rate = summarize(rates, rounds);
    result.share = leaves_tensor_cores_idle ? NAN : median(shares, rounds);
    result.ratio = summarize(ratios, rounds);
    free(rates);
    free(shares);
    free(ratios);
    return result;
}
