/* What the clocks of the harness say, on a GPU: that a burst's time is the GPU's alone, and that
 * the joules of a sustained run are those of the power that the driver reports. Without a GPU every
 * case is skipped. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "../unit/test.h"
#include "harness/buffers.h"
#include "harness/exit_status.h"
#include "harness/gpu/meter.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"
#include "harness/operands.h"
#include "harness/second_opinion.h"
#include "harness/statistics.h"
#include "harness/timing.h"

static device gpu;

/* ---- the gate */

/* A copy on the GPU that takes less than the delay. */
enum { COPIED_BYTES = 32 << 20, DELAY_MICROSECONDS = 50, ROUNDS = 9 };
static const double GATED_TOLERANCE = 0.02;
static const double UNGATED_AT_LEAST = 1.5;

static void *from, *to;

static int copy_at_once(void *context, size_t copy) {
    (void)context;
    (void)copy;
    return cudaMemcpyAsync(to, from, COPIED_BYTES, cudaMemcpyDeviceToDevice, gpu.stream) !=
           cudaSuccess;
}

static int copy_late(void *context, size_t copy) {
    const double begin = monotonic_seconds();
    while (monotonic_seconds() - begin < 1e-6 * DELAY_MICROSECONDS) {
    }
    return copy_at_once(context, copy);
}

/* The time of a copy with the delay before every enqueueing over the time of one without. */
static double delayed_over_undelayed(bool ungated) {
    const contender contenders[CONTENDERS] = {[CONTENDER_STEP] = {"copy", copy_at_once, NULL},
                                              [CONTENDER_OTHER] = {"late copy", copy_late, NULL}};
    const options options = {.protocol = PROTOCOL_BURST, .rounds = ROUNDS, .ungated = ungated};
    const work work = {.bytes = 2.0 * COPIED_BYTES};
    timing timing = {.rounds = 0};
    summary ratio = {NAN, NAN, NAN, 0};
    if (timing_run(&gpu, &options, 1, work, contenders, STEP_AND_OTHER, &timing) == 0) {
        free(timing_make_ratios(&timing, CONTENDER_OTHER, &ratio));
    }
    timing_free(&timing);
    return ratio.median;
}

static void delays_do_not_count(void) {
    EXPECT(cudaMalloc(&from, COPIED_BYTES) == cudaSuccess &&
               cudaMalloc(&to, COPIED_BYTES) == cudaSuccess,
           "no memory");
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

enum { SIZE = 4096, MOST_SAMPLES = 4096, SAMPLE_MICROSECONDS = 5000 };
static const double WARM_UP_SECONDS = 1.5;
static const double METERED_SECONDS = 2.5;
/* What the driver calls its power is the mean of about a second: that of the last one counts. */
static const double SAMPLED_SECONDS = 1.0;
static const double POWER_TOLERANCE = 0.03;

typedef struct sampler {
    atomic_bool stop;
    size_t count;
    double when[MOST_SAMPLES];
    double watts[MOST_SAMPLES];
} sampler;

static void *sample_power(void *context) {
    sampler *sampler = context;
    const struct timespec pause = {0, SAMPLE_MICROSECONDS * 1000L};
    while (!atomic_load(&sampler->stop) && sampler->count < MOST_SAMPLES) {
        sampler->when[sampler->count] = monotonic_seconds();
        sampler->watts[sampler->count++] = nvml_power_watts(gpu.nvml);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

typedef struct product {
    buffer a, b, d;
    problem problem;
    second_opinion *cublas;
} product;

static int launch_product(void *context, size_t number) {
    const product *product = context;
    (void)number;
    return second_opinion_launch(product->cublas, &product->problem);
}

static int open_product(product *product) {
    const size_t elements = (size_t)SIZE * SIZE;
    const recipe recipe = {.inputs = INPUTS_NORMAL, .seed = 1, .row = SIZE, .spacing = 1};
    product->cublas = second_opinion_open(GEMM_BF16, CONTENDER_OTHER, gpu.stream);
    if (product->cublas == NULL || buffer_create(&product->a, 2 * elements, true, "A") != 0 ||
        buffer_create(&product->b, 2 * elements, true, "B") != 0 ||
        buffer_create(&product->d, 2 * elements, true, "D") != 0 ||
        operands_fill(product->a.payload, NUMBER_BF16, elements, &recipe, gpu.stream) != 0 ||
        operands_fill(product->b.payload, NUMBER_BF16, elements, &recipe, gpu.stream) != 0) {
        return 1;
    }
    product->problem = (problem){.a = product->a.payload,
                                 .b = product->b.payload,
                                 .d = product->d.payload,
                                 .m = SIZE,
                                 .n = SIZE,
                                 .k = SIZE,
                                 .stream = gpu.stream};
    return 0;
}

static void close_product(product *product) {
    buffer_destroy(&product->a);
    buffer_destroy(&product->b);
    buffer_destroy(&product->d);
    second_opinion_close(product->cublas);
}

/* The median of what was sampled in the last second. */
static double sampled_watts(const sampler *sampler) {
    size_t first = sampler->count;
    while (first > 0 &&
           sampler->when[first - 1] > sampler->when[sampler->count - 1] - SAMPLED_SECONDS) {
        --first;
    }
    return median(&sampler->watts[first], sampler->count - first);
}

static void joules_are_watts(void) {
    static metered metered; /* too large for the stack */
    static sampler sampler;
    product product = {.cublas = NULL};
    const metered_work work = {"cuBLAS", launch_product, &product};
    pthread_t thread;
    EXPECT(open_product(&product) == 0, "no product");
    if (isnan(nvml_power_watts(gpu.nvml)) ||
        pthread_create(&thread, NULL, sample_power, &sampler)) {
        EXPECT(false, "the driver's power cannot be sampled");
        close_product(&product);
        return;
    }
    EXPECT(meter(&gpu, &work, WARM_UP_SECONDS, METERED_SECONDS, &metered) == 0, "not metered");
    atomic_store(&sampler.stop, true);
    EXPECT(pthread_join(thread, NULL) == 0, "the sampler does not end");
    const double sampled = sampled_watts(&sampler);
    const double counted = edges_watts(&metered.edges);
    EXPECT(fabs(counted / sampled - 1) <= POWER_TOLERANCE,
           "the energy counter gives %.1f W, the driver's power is %.1f W", counted, sampled);
    message("the energy counter: %.1f W, the power sampled beside it: %.1f W", counted, sampled);
    close_product(&product);
}

int main(void) {
    static const step any = {.name = "timing", .max_compute_capability = EVERY_LATER_CAPABILITY};
    static const char *const NAMES[] = {
        "timing: a delay between two enqueuings does not count, and without a gate it does",
        "timing: the energy counter agrees with the power sampled on its own"};
    static void (*const BODIES[])(void) = {delays_do_not_count, joules_are_watts};
    message_prefix("timing");
    const bool here = device_open(&any, 0, &gpu) == STATUS_VERIFIED;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; ++i) {
        if (here) {
            run_case(NAMES[i], BODIES[i]);
        } else {
            skip_case(NAMES[i], "no GPU");
        }
    }
    if (here) {
        device_close(&gpu);
    }
    return test_result();
}
