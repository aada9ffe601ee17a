/* What the clocks of the harness say, on a GPU: that a burst's time is the GPU's alone, that the SM
 * clock is plausible, and that the joules of a sustained run are those of the power that the driver
 * reports. */
#include <math.h>

#include "../tools/test.h"
#include "harness/buffers.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"
#include "harness/timing.h"

/* Copies on the GPU: one that takes less than the delay; and a longer one to keep the GPU busy, so
 * that a chunk of launches fits into the stream and the energy counter is read often. */
enum { SHORT_COPY = 32 << 20, LONG_COPY = 256 << 20, DELAY_MICROSECONDS = 50, ROUNDS = 9 };
enum { MOST_SAMPLES = 4096 };
static const double SAMPLE_SECONDS = 0.005, SAMPLED_SECONDS = 1.0;
static device gpu;
static void *from, *to;
static double when[MOST_SAMPLES], watts[MOST_SAMPLES];
static size_t samples;

static void copy(size_t bytes) {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, gpu.stream), "a copy");
}

/* A contender with a label is late. */
static void copy_short(const contender *contender, size_t number) {
    const double begin = monotonic_seconds();
    (void)number;
    while (contender->label != NULL && monotonic_seconds() - begin < 1e-6 * DELAY_MICROSECONDS) {
    }
    copy(SHORT_COPY);
}

/* While copies are launched back to back: the power that the driver reports, which is the mean of
 * about a second. Enough launches are in flight that the GPU does not wait for a look at it. */
static void copy_and_look(const contender *contender, size_t number) {
    const double now = monotonic_seconds();
    (void)contender;
    (void)number;
    if (samples < MOST_SAMPLES && (samples == 0 || now > when[samples - 1] + SAMPLE_SECONDS)) {
        when[samples] = now;
        watts[samples++] = nvml_power_watts();
    }
    copy(LONG_COPY);
}

static void run_rounds(contender contenders[], int count, const options *options) {
    static const step moves = {.computes = TRANSPOSE_FP32};
    static timing timing; /* too large for the stack */
    workload workload = {.step = &moves,
                         .options = options,
                         .device = &gpu,
                         .arithmetic = arithmetic_of(&moves),
                         .copies = 1,
                         .contenders = count,
                         .contender = contenders};
    timing.rounds = 0;
    timing_run(&workload, &timing);
}

/* The time of a copy with the delay before every enqueueing over the time of one without. */
static double delayed_over_undelayed(bool ungated) {
    const options options = {.protocol = PROTOCOL_BURST, .rounds = ROUNDS, .ungated = ungated};
    contender contenders[] = {{.title = "copy", .launch = copy_short},
                              {.title = "late copy", .launch = copy_short, .label = "late"}};
    run_rounds(contenders, 2, &options);
    const double ghz = median(contenders[0].of[CLOCK_GHZ], ROUNDS);
    EXPECT(ghz > 0.1 && ghz < 3, "%g GHz", ghz);
    return median(contenders[1].of[SECONDS], ROUNDS) / median(contenders[0].of[SECONDS], ROUNDS);
}

static void delays_do_not_count(void) {
    const double gated = delayed_over_undelayed(false), ungated = delayed_over_undelayed(true);
    EXPECT(fabs(gated - 1) <= 0.02, "with the gate a delay gives %.3f", gated);
    EXPECT(ungated >= 1.5, "the control, without a gate, gives %.3f", ungated);
    message("a delay of %d us: %.4f of the time with the gate, %.2f without it", DELAY_MICROSECONDS,
            gated, ungated);
}

static void joules_are_watts(void) {
    const options options = {.protocol = PROTOCOL_SUSTAINED, .rounds = 1};
    contender contenders[] = {{.title = "copy", .launch = copy_and_look}};
    run_rounds(contenders, 1, &options);
    size_t first = samples;
    while (first > 0 && when[first - 1] > when[samples - 1] - SAMPLED_SECONDS) {
        --first;
    }
    const double sampled = median(&watts[first], samples - first);
    const double metered = contenders[0].of[JOULES][0] / contenders[0].of[SECONDS][0];
    message("the energy counter: %.1f W, the power sampled beside it: %.1f W", metered, sampled);
    EXPECT(fabs(metered / sampled - 1) <= 0.03, "%.1f W, not %.1f W", metered, sampled);
}

int main(void) {
    static const step any = {.name = "timing", .max_compute_capability = EVERY_LATER_CAPABILITY};
    device_open(&any, 0, &gpu);
    message_prefix("timing");
    from = device_memory(LONG_COPY, "a copy");
    to = device_memory(LONG_COPY, "a copy");
    run_case("a delay between two enqueuings does not count, and without a gate it does",
             delays_do_not_count);
    run_case("the energy counter agrees with the power sampled on its own", joules_are_watts);
    return test_result();
}
