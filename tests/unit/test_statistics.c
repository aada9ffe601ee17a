/* Medians, quantiles and the arithmetic on times, against values worked out by hand. */
#include <math.h>
#include <stdlib.h>

#include "harness/timing.h"
#include "test.h"

static int near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

static void medians(void) {
    const double odd[] = {5, 1, 3};
    const double even[] = {4, 1, 3, 2};
    EXPECT(median(odd, 3) == 3, "%g", median(odd, 3));
    EXPECT(median(even, 4) == 2.5, "%g", median(even, 4));
    EXPECT(median(odd, 1) == 5, "one value");
    EXPECT(odd[0] == 5 && even[0] == 4, "the input was changed");
}

static void quantiles(void) {
    const double values[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
    const double two[] = {1, 2};
    EXPECT(near(quantile(values, 11, 0.1), 20), "%g", quantile(values, 11, 0.1));
    EXPECT(near(quantile(values, 11, 0.25), 35), "%g", quantile(values, 11, 0.25));
    EXPECT(quantile(values, 11, 0) == 10 && quantile(values, 11, 1) == 110, "ends");
    EXPECT(near(quantile(two, 2, 0.1), 1.1), "%g", quantile(two, 2, 0.1));
}

static void summaries(void) {
    const double values[] = {3, 1, 2, 5, 4};
    const summary s = summarize(values, 5);
    EXPECT(s.median == 3, "median %g", s.median);
    EXPECT(near(s.low, 1.4) && near(s.high, 4.6), "%g to %g", s.low, s.high);
}

static void unmeasured_values(void) {
    const double some[] = {NAN, 2, INFINITY, 4};
    const double none[] = {NAN, NAN};
    EXPECT(median(some, 4) == 3, "%g", median(some, 4));
    EXPECT(isnan(median(none, 2)) && isnan(median(NULL, 0)), "nothing measured");
    EXPECT(isnan(summarize(none, 2).low), "nothing measured");
}

static void times(void) {
    double step_seconds[] = {1e-3, 2e-3, 4e-3};
    double cublas_seconds[] = {2e-3, 2e-3, 2e-3};
    double clock_ghz[] = {1, 1, 1};
    double unknown[] = {NAN, NAN, NAN};
    const timing timing = {.rounds = 3,
                           .work = {.flop = 4.096e9},
                           .samples = {{{step_seconds, clock_ghz, unknown, unknown}, 15},
                                       {{cublas_seconds, unknown, unknown, unknown}, 15}}};
    const device_info gpu = {.compute_capability = 90, .sms = 2};
    const timing_summary step = timing_summarize(&timing, CONTENDER_STEP, &gpu);
    EXPECT(step.of[SECONDS] == 2e-3 && near(step.rate.median, 2.048), "%g TFLOPS",
           step.rate.median);
    /* 4.096e9 flop in 2e6 cycles on 2 SMs of 4096 flop per cycle: a quarter. */
    EXPECT(near(step.share, 0.25), "share %g", step.share);
    EXPECT(isnan(step.of[WATTS]) && isnan(step.of[JOULES]), "power was not measured");
    const timing_summary cublas = timing_summarize(&timing, CONTENDER_OTHER, &gpu);
    EXPECT(isnan(cublas.share) && isnan(cublas.of[CLOCK_GHZ]), "unknown clock");
    summary ratio;
    double *ratios = timing_make_ratios(&timing, CONTENDER_OTHER, &ratio);
    EXPECT(ratios[0] == 2 && ratios[1] == 1 && ratios[2] == 0.5, "%g %g %g", ratios[0], ratios[1],
           ratios[2]);
    EXPECT(ratio.median == 1, "%g", ratio.median);
    free(ratios);
    EXPECT(isnan(tensor_core_flop_per_cycle(123)), "12.3 is not in the table");
}

int main(void) {
    run_case("statistics: medians", medians);
    run_case("statistics: quantiles interpolate", quantiles);
    run_case("statistics: summaries", summaries);
    run_case("statistics: unmeasured values are left out", unmeasured_values);
    run_case("statistics: times, shares and ratios", times);
    return test_result();
}
