/* What the clocks of the harness say, on a GPU: that a burst's time is the GPU's alone, and that
 * the joules of a sustained run are those of the power that the driver reports. Without a GPU every
 * case is skipped. */
#include <math.h>
#include <stdlib.h>

#include "../../emulator/tests/test.h"
#include "harness/buffers.h"
#include "harness/gpu/meter.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"
#include "harness/operands.h"
#include "harness/reference.h"
#include "harness/timing.h"

static device gpu;

/* ---- the gate */

/* A copy on the GPU that takes less than the delay. */
enum { COPIED_BYTES = 32 << 20, DELAY_MICROSECONDS = 50, ROUNDS = 9 };
static const double GATED_TOLERANCE = 0.02;
static const double UNGATED_AT_LEAST = 1.5;

static void *from, *to;

/* A copy at once, or after a delay. */
static void copy(const contender *contender, size_t number) {
    const double begin = monotonic_seconds();
    (void)number;
    while (contender->role == CONTENDER_OTHER &&
           monotonic_seconds() - begin < 1e-6 * DELAY_MICROSECONDS) {
    }
    cuda_check(cudaMemcpyAsync(to, from, COPIED_BYTES, cudaMemcpyDeviceToDevice, gpu.stream),
               "a copy");
}

/* The time of a copy with the delay before every enqueueing over the time of one without. */
static double delayed_over_undelayed(bool ungated) {
    static const step moves = {.computes = TRANSPOSE_FP32};
    const options options = {.m = COPIED_BYTES / 4,
                             .n = 1,
                             .protocol = PROTOCOL_BURST,
                             .rounds = ROUNDS,
                             .ungated = ungated};
    contender contenders[] = {{.role = CONTENDER_STEP, .title = "copy", .launch = copy},
                              {.role = CONTENDER_OTHER, .title = "late copy", .launch = copy}};
    workload workload = {.step = &moves,
                         .options = &options,
                         .device = &gpu,
                         .arithmetic = arithmetic_of(&moves),
                         .copies = 1,
                         .contenders = 2,
                         .contender = contenders};
    static timing timing; /* too large for the stack */
    timing.rounds = 0;
    timing_run(&workload, &timing);
    return timing_summarize(&workload, &contenders[1], timing.rounds).ratio.median;
}

static void delays_do_not_count(void) {
    from = device_memory(COPIED_BYTES, "a copy");
    to = device_memory(COPIED_BYTES, "a copy");
    const double gated = delayed_over_undelayed(false);
    EXPECT(fabs(gated - 1) <= GATED_TOLERANCE, "with the gate a delay of %d us gives %.3f",
           DELAY_MICROSECONDS, gated);
    const double ungated = delayed_over_undelayed(true);
    EXPECT(ungated >= UNGATED_AT_LEAST, "the control, without a gate, gives %.3f", ungated);
    message("a delay of %d us: %.4f of the time with the gate, %.2f without it", DELAY_MICROSECONDS,
            gated, ungated);
    (void)cudaFree(from);
    (void)cudaFree(to);
}

/* ---- the energy */

enum { SIZE = 4096, MOST_SAMPLES = 4096 };
static const double SAMPLE_SECONDS = 0.005;
static const double WARM_UP_SECONDS = 1.5;
static const double METERED_SECONDS = 2.5;
/* What the driver calls its power is the mean of about a second: that of the last one counts. */
static const double SAMPLED_SECONDS = 1.0;
static const double POWER_TOLERANCE = 0.03;

/* A product, and the power that the driver reports while it is launched back to back: enough
 * launches are in flight that the GPU does not wait for a look at it. */
typedef struct product {
    problem problem;
    second_opinion *cublas;
    size_t count;
    double when[MOST_SAMPLES];
    double watts[MOST_SAMPLES];
} product;

static void launch_product(void *context) {
    product *product = context;
    const double now = monotonic_seconds();
    const size_t count = product->count;
    if (count < MOST_SAMPLES && (count == 0 || now > product->when[count - 1] + SAMPLE_SECONDS)) {
        product->when[count] = now;
        product->watts[product->count++] = nvml_power_watts();
    }
    second_opinion_launch(product->cublas, &product->problem);
}

/* Random operands, which are there until the program ends. */
static const void *operand(void) {
    const size_t elements = (size_t)SIZE * SIZE;
    const recipe recipe = {.inputs = INPUTS_NORMAL, .seed = 1, .row = SIZE, .spacing = 1};
    void *matrix = device_memory(2 * elements, "an operand");
    operands_fill(matrix, NUMBER_BF16, elements, &recipe, gpu.stream);
    return matrix;
}

/* The median of what was sampled in the last second. */
static double sampled_watts(const product *product) {
    size_t first = product->count;
    while (first > 0 &&
           product->when[first - 1] > product->when[product->count - 1] - SAMPLED_SECONDS) {
        --first;
    }
    return median(&product->watts[first], product->count - first);
}

static void joules_are_watts(void) {
    static product product;
    product.problem = (problem){.a = operand(),
                                .b = operand(),
                                .d = device_memory(2 * (size_t)SIZE * SIZE, "D"),
                                .m = SIZE,
                                .n = SIZE,
                                .k = SIZE,
                                .stream = gpu.stream};
    product.cublas =
        second_opinion_open(&(step){.computes = GEMM_BF16}, CONTENDER_OTHER, gpu.stream);
    const metered_work work = {"cuBLAS", launch_product, &product};
    const metered metered = meter(&gpu, &work, WARM_UP_SECONDS, METERED_SECONDS);
    const double sampled = sampled_watts(&product);
    EXPECT(fabs(metered.watts / sampled - 1) <= POWER_TOLERANCE,
           "the energy counter gives %.1f W, the driver's power is %.1f W", metered.watts, sampled);
    message("the energy counter: %.1f W, the power sampled beside it: %.1f W", metered.watts,
            sampled);
}

int main(void) {
    static const step any = {.name = "timing", .max_compute_capability = EVERY_LATER_CAPABILITY};
    static const char *const NAMES[] = {
        "timing: a delay between two enqueuings does not count, and without a gate it does",
        "timing: the energy counter agrees with the power sampled on its own"};
    static void (*const BODIES[])(void) = {delays_do_not_count, joules_are_watts};
    message_prefix("timing");
    int count = 0;
    const bool here = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    if (here) {
        device_open(&any, 0, &gpu);
    }
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; ++i) {
        if (here) {
            run_case(NAMES[i], BODIES[i]);
        } else {
            skip_case(NAMES[i], "no GPU");
        }
    }
    return test_result();
}
