/* What the clocks of the harness say, on a GPU: that a burst's time is the GPU's alone, and that
 * the SM clock and the joules of a sustained run are plausible. */
#include <math.h>

#include "../tools/test.h"
#include "harness/buffers.h"
#include "harness/message.h"
#include "harness/timing.h"

enum { COPY = 32 << 20, DELAY_MICROSECONDS = 50, ROUNDS = 9 }; /* the copy takes less */
static device gpu;
static void *from, *to;

/* A contender with a label is late. */
static void copy(const contender *contender, size_t number) {
    const double begin = monotonic_seconds();
    (void)number;
    while (contender->label != NULL && monotonic_seconds() - begin < 1e-6 * DELAY_MICROSECONDS) {
    }
    cuda_check(cudaMemcpyAsync(to, from, COPY, cudaMemcpyDeviceToDevice, gpu.stream), "a copy");
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
    contender contenders[] = {{.title = "copy", .launch = copy},
                              {.title = "late copy", .launch = copy, .label = "late"}};
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

/* Between those of an idle GPU and its limit, which it may pass for a moment. */
static void joules_are_watts(void) {
    const options options = {.protocol = PROTOCOL_SUSTAINED, .rounds = 1};
    contender contenders[] = {{.title = "copy", .launch = copy}};
    run_rounds(contenders, 1, &options);
    const double watts = contenders[0].of[JOULES][0] / contenders[0].of[SECONDS][0];
    EXPECT(watts > 40 && watts < 1.1 * gpu.info.power_limit_watts, "%.1f W", watts);
}

int main(void) {
    static const step any = {.name = "timing", .and_later = true};
    device_open(&any, 0, &gpu);
    message_prefix("timing");
    from = device_memory(COPY, "a copy");
    to = device_memory(COPY, "a copy");
    run_case("a delay between two enqueuings does not count, and without a gate it does",
             delays_do_not_count);
    run_case("joules of a sustained run are those of a busy GPU", joules_are_watts);
    return test_result();
}
