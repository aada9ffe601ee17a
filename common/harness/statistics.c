#include "harness/timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/message.h"

/* Of doubles, or of what begins with one. */
static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* q: 0 to 1. */
static double quantile(const double *values, size_t count, double q) {
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

/* Per SM and cycle, four tensor cores together: dense FP16 fused multiply-adds times two, as
 * NVIDIA's architecture white papers have them. Compute capability 8.0: A100, 256 per tensor
 * core; 8.6: GA102, 128; 9.0: H100, 512, and the H200 has the same SM. Of the others the papers
 * give a card's TFLOPS, SMs and boost clock. 8.9: Ada, RTX 4090, 330.3 of 128 SMs at 2.52
 * GHz. 12.0: RTX Blackwell, RTX 5090, 419 of 170 SMs at 2.407 GHz. fp32 sums halve that on GeForce
 * cards of 8.6 and later, not on all professional ones: there it is not known. */
static const struct {
    int compute_capability;
    double flop;
    bool sums_matter;
} PEAKS[] = {
    {80, 2048, false}, {86, 1024, true}, {89, 1024, true}, {90, 4096, false}, {120, 1024, true}};

/* Of all SMs in a cycle, with the contender's operands and sums; NAN if it is not known. Operands
 * of 8 bits are at twice the rate. */
static double peak_flop(const workload *workload, const contender *contender) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const device_info *info = &workload->device->info;
    const bool fp16_sums = is_step(contender->role)
                               ? arithmetic->fp16_sums
                               : contender->role == CONTENDER_NARROW_SUMS && !arithmetic->scaled;
    for (size_t i = 0; i < sizeof PEAKS / sizeof *PEAKS; ++i) {
        const double flop = info->sms * PEAKS[i].flop * (arithmetic->scaled ? 2 : 1);
        if (PEAKS[i].compute_capability == info->compute_capability) {
            return !PEAKS[i].sums_matter || fp16_sums      ? flop
                   : strstr(info->name, "GeForce") != NULL ? flop / 2
                                                           : NAN;
        }
    }
    return NAN;
}

timing_summary timing_summarize(const workload *workload, const contender *contender,
                                size_t rounds) {
    const options *o = workload->options;
    const bool moves = workload->arithmetic.moves;
    const bool has_share = !is_step(contender->role) || !workload->step->on_cuda_cores;
    const double work = arithmetic_work(&workload->arithmetic, o->m, o->n, o->k);
    const double peak = moves ? workload->device->info.memory_bytes_per_second
                              : peak_flop(workload, contender) * 1e9; /* and GHz */
    double *found = allocate(3 * rounds, sizeof *found);
    double *const rates = found, *const shares = &found[rounds], *const ratios = &found[2 * rounds];
    timing_summary result;
    for (size_t i = 0; i < rounds; ++i) {
        const double seconds = contender->of[SECONDS][i];
        rates[i] = work / seconds * (moves ? 1e-9 : 1e-12);
        shares[i] = work / seconds / (peak * (moves ? 1 : contender->of[CLOCK_GHZ][i]));
        ratios[i] = seconds / workload->contender[0].of[SECONDS][i];
    }
    for (int i = 0; i < MEASURES; ++i) {
        result.of[i] = median(contender->of[i], rounds);
    }
    result.rate = summarize(rates, rounds);
    result.of[SHARE] = has_share ? median(shares, rounds) : NAN;
    result.ratio = summarize(ratios, rounds);
    free(found);
    return result;
}

int ranked_sort(ranked *all, int count) {
    int good = 0;
    for (int i = 0; i < count; ++i) {
        if (isfinite(all[i].seconds)) {
            all[good++] = all[i];
        }
    }
    qsort(all, (size_t)good, sizeof *all, ascending);
    return good;
}

int rank_by_halving(ranked *all, int count, int most,
                    double (*launch)(void *context, int number, bool first), void *context) {
    const double expected = 2.0 * count; /* launches, if half of them go each time */
    double done = 0;
    progress progress;
    progress_begin(&progress, "ranking (Ctrl-C ends the ranking)");
    interrupt_catch();
    for (bool backwards = false; count > most && !interrupted(); backwards = !backwards) {
        for (int i = 0; i < count && !interrupted(); ++i) {
            ranked *next = &all[backwards ? count - 1 - i : i];
            const double seconds = launch(context, next->number, isinf(next->seconds));
            next->seconds = fmin(next->seconds, seconds); /* the other one if one is NAN */
            progress_update(&progress, fmin(1, ++done / expected));
        }
        const int good = ranked_sort(all, count);
        const int half = good / 2 > most ? good / 2 : most;
        count = good < half ? good : half;
    }
    interrupt_release();
    progress_hide(&progress);
    return count;
}
