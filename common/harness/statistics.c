/* The arithmetic on measurements: no GPU needed. */
#include "harness/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Per SM and cycle, four tensor cores together: dense FP16 fused multiply-adds times two, as
 * NVIDIA's architecture white papers have them. Compute capability 8.0: A100, 256 per tensor
 * core; 8.6: GA102, 128; 9.0: H100, 512, and the H200 has the same SM. Of the others the papers
 * give a card's TFLOPS, SMs and boost clock. 8.9: Ada, RTX 4090, 330.3 of 128 SMs at 2.52
 * GHz. 12.0: RTX Blackwell, RTX 5090, 419 of 170 SMs at 2.407 GHz. fp32 sums halve that on GeForce
 * cards of 8.6 and later, not on all professional ones: there it is not known. */
static const struct peak {
    int compute_capability;
    double flop;
    bool sums_matter;
} PEAKS[] = {
    {80, 2048, false}, {86, 1024, true}, {89, 1024, true}, {90, 4096, false}, {120, 1024, true}};

double tensor_core_flop_per_cycle(const device_info *info, bool fp16_sums) {
    for (size_t i = 0; i < sizeof PEAKS / sizeof *PEAKS; ++i) {
        const struct peak *peak = &PEAKS[i];
        if (peak->compute_capability == info->compute_capability) {
            return !peak->sums_matter || fp16_sums         ? peak->flop
                   : strstr(info->name, "GeForce") != NULL ? peak->flop / 2
                                                           : NAN;
        }
    }
    return NAN;
}

bool timing_fp16_sums(const timing *timing, int contender) {
    return (contender == CONTENDER_NARROW_SUMS && !timing->work.of_8_bits) ||
           (timing->work.fp16_sums &&
            (contender == CONTENDER_STEP || contender == CONTENDER_EARLY));
}

double peak_flop_per_cycle(const timing *timing, int contender, const device_info *info) {
    const double of_16_bits =
        info->sms * tensor_core_flop_per_cycle(info, timing_fp16_sums(timing, contender));
    return timing->work.of_8_bits ? 2 * of_16_bits : of_16_bits;
}

/* The share of the peak that one sample comes to. */
static double share_of(const timing *timing, int contender, const device_info *info, double seconds,
                       double ghz) {
    return timing->work.bytes > 0
               ? timing->work.bytes / seconds / info->memory_bytes_per_second
               : timing->work.flop /
                     (seconds * ghz * 1e9 * peak_flop_per_cycle(timing, contender, info));
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
        shares[i] = share_of(timing, contender, info, of[SECONDS][i], of[CLOCK_GHZ][i]);
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
