#include "harness/timing.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/gpu/clocks.h"
#include "harness/cuda_failed.h"
#include "harness/message.h"

static const double BURST_LEAST_SECONDS = 0.5e-3;
static const double SUSTAINED_SECONDS = 1.5;
static const double SUSTAINED_WARM_UP_SECONDS = 0.3;
/* Back-to-back launches are enqueued in chunks of about this long, two in flight. */
static const double CHUNK_SECONDS = 0.05;
enum { MOST_LAUNCHES_PER_CHUNK = 256, CALIBRATION_LAUNCHES = 3, CHUNKS_IN_FLIGHT = 2 };

static volatile sig_atomic_t interrupted = 0;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* Everything a round needs. */
typedef struct stopwatch {
    const device *device;
    clocks *clocks;
    cudaEvent_t begin;
    cudaEvent_t end;
    cudaEvent_t chunk_done[CHUNKS_IN_FLIGHT];
    size_t copies;
} stopwatch;

/* One timed run of one contender. */
typedef struct sample {
    double seconds;
    double clock_ghz;
    double watts;
    double joules;
} sample;

static int stopwatch_open(stopwatch *watch, const device *device, size_t copies) {
    memset(watch, 0, sizeof *watch);
    watch->device = device;
    watch->copies = copies;
    watch->clocks = clocks_open(device->info.sms);
    return watch->clocks == NULL ||
           cuda_failed(cudaEventCreate(&watch->begin), "making an event") ||
           cuda_failed(cudaEventCreate(&watch->end), "making an event") ||
           cuda_failed(cudaEventCreate(&watch->chunk_done[0]), "making an event") ||
           cuda_failed(cudaEventCreate(&watch->chunk_done[1]), "making an event");
}

static void destroy_event(cudaEvent_t event) {
    if (event != NULL) {
        (void)cudaEventDestroy(event); /* after a fault this repeats a reported error */
    }
}

static void stopwatch_close(stopwatch *watch) {
    destroy_event(watch->begin);
    destroy_event(watch->end);
    destroy_event(watch->chunk_done[0]);
    destroy_event(watch->chunk_done[1]);
    clocks_close(watch->clocks);
}

static void sleep_ms(long milliseconds) {
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR && !interrupted) {
    }
}

static int wait_for(const stopwatch *watch, const contender *who) {
    return device_wait(watch->device, who->name);
}

/* Enqueues launches, each on the next copy of the operands. */
static int launch(const stopwatch *watch, const contender *who, contender_samples *samples,
                  size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (who->launch(who->context, samples->launches % watch->copies) != 0) {
            return 1;
        }
        ++samples->launches;
    }
    return 0;
}

/* The clocks are read outside the two events, so that the readings cost no timed microsecond. */
static int timed_begin(const stopwatch *watch) {
    struct CUstream_st *stream = watch->device->stream;
    return clocks_read(watch->clocks, CLOCK_BEFORE, stream) ||
           cuda_failed(cudaEventRecord(watch->begin, stream), "recording an event");
}

static int timed_end(const stopwatch *watch) {
    struct CUstream_st *stream = watch->device->stream;
    return cuda_failed(cudaEventRecord(watch->end, stream), "recording an event") ||
           clocks_read(watch->clocks, CLOCK_AFTER, stream);
}

static int elapsed_seconds(const stopwatch *watch, double *seconds) {
    float milliseconds = 0;
    const int failed = cuda_failed(cudaEventElapsedTime(&milliseconds, watch->begin, watch->end),
                                   "reading the time between two events");
    *seconds = 1e-3 * (double)milliseconds;
    return failed;
}

static int burst(const stopwatch *watch, const contender *who, contender_samples *samples,
                 size_t launches, sample *result) {
    struct CUstream_st *stream = watch->device->stream;
    if (clocks_clear(watch->clocks, stream) != 0 || wait_for(watch, who) != 0) {
        return 1;
    }
    sleep_ms(BURST_IDLE_MS);
    if (launch(watch, who, samples, 1) != 0 || timed_begin(watch) != 0 ||
        launch(watch, who, samples, launches) != 0 || timed_end(watch) != 0 ||
        wait_for(watch, who) != 0 || elapsed_seconds(watch, &result->seconds) != 0) {
        return 1;
    }
    result->seconds /= (double)launches;
    return clocks_mean_ghz(watch->clocks, stream, &result->clock_ghz);
}

/* About how long a launch takes. */
static int calibrate(const stopwatch *watch, const contender *who, contender_samples *samples,
                     double *seconds) {
    if (launch(watch, who, samples, 1) != 0 || timed_begin(watch) != 0 ||
        launch(watch, who, samples, CALIBRATION_LAUNCHES) != 0 || timed_end(watch) != 0 ||
        wait_for(watch, who) != 0 || elapsed_seconds(watch, seconds) != 0) {
        return 1;
    }
    *seconds /= CALIBRATION_LAUNCHES;
    return 0;
}

/* How many launches fill a time, within limits. */
static size_t launches_in(double time, double seconds, size_t least, size_t most) {
    const double wanted = ceil(time / seconds);
    return wanted > (double)most ? most : wanted > (double)least ? (size_t)wanted : least;
}

/* How many launches a round of the burst protocol times: one number for all contenders, so that
 * none of them has more launches to warm up in. */
static int choose_burst_launches(const stopwatch *watch, const contender contenders[CONTENDERS],
                                 timing *timing) {
    timing->burst_launches = BURST_LEAST_LAUNCHES;
    for (int i = 0; i < CONTENDERS; ++i) {
        double seconds;
        if (!has_contender(timing->contenders, i)) {
            continue;
        }
        if (calibrate(watch, &contenders[i], &timing->samples[i], &seconds) != 0) {
            return 1;
        }
        timing->burst_launches =
            launches_in(BURST_LEAST_SECONDS, seconds, timing->burst_launches, BURST_MOST_LAUNCHES);
    }
    return 0;
}

/* Launches back to back until the time is over. Waits for the chunk before the last one, so that
 * the GPU always has the next launch in its queue and the loop does not run far ahead. */
static int launch_for(const stopwatch *watch, const contender *who, contender_samples *samples,
                      size_t chunk, double seconds) {
    const double start = monotonic_seconds();
    for (size_t i = 0; monotonic_seconds() - start < seconds; ++i) {
        if (i >= CHUNKS_IN_FLIGHT &&
            cuda_failed(cudaEventSynchronize(watch->chunk_done[i % CHUNKS_IN_FLIGHT]),
                        "waiting for launches of %s", who->name)) {
            return 1;
        }
        if (launch(watch, who, samples, chunk) != 0 ||
            cuda_failed(
                cudaEventRecord(watch->chunk_done[i % CHUNKS_IN_FLIGHT], watch->device->stream),
                "recording an event")) {
            return 1;
        }
    }
    return 0;
}

/* The energy is that between two readings of the driver's counter, taken with the GPU idle right
 * before and after the run. The counter moves about every 100 ms, which is the error of it. */
static int sustained(const stopwatch *watch, const contender *who, contender_samples *samples,
                     sample *result) {
    struct CUstream_st *stream = watch->device->stream;
    double one;
    if (clocks_clear(watch->clocks, stream) != 0 || calibrate(watch, who, samples, &one) != 0) {
        return 1;
    }
    const size_t chunk = launches_in(CHUNK_SECONDS, one, 1, MOST_LAUNCHES_PER_CHUNK);
    if (launch_for(watch, who, samples, chunk, SUSTAINED_WARM_UP_SECONDS) != 0 ||
        wait_for(watch, who) != 0 || clocks_clear(watch->clocks, stream) != 0) {
        return 1;
    }
    const size_t before = samples->launches;
    const double joules = device_energy_joules(watch->device);
    const double start = monotonic_seconds();
    if (timed_begin(watch) != 0 || launch_for(watch, who, samples, chunk, SUSTAINED_SECONDS) != 0 ||
        timed_end(watch) != 0 || wait_for(watch, who) != 0 ||
        elapsed_seconds(watch, &result->seconds) != 0) {
        return 1;
    }
    const double passed = monotonic_seconds() - start;
    const double used = device_energy_joules(watch->device) - joules;
    const double launches = (double)(samples->launches - before);
    result->seconds /= launches;
    result->watts = used / passed;
    result->joules = used / launches;
    return clocks_mean_ghz(watch->clocks, stream, &result->clock_ghz);
}

/* Into list, in order; returns how many they are. */
static size_t list_contenders(contender_set set, int list[CONTENDERS]) {
    size_t count = 0;
    for (int i = 0; i < CONTENDERS; ++i) {
        if (has_contender(set, i)) {
            list[count++] = i;
        }
    }
    return count;
}

static int run_round(const stopwatch *watch, const contender contenders[CONTENDERS],
                     timing *timing) {
    const size_t round = timing->rounds;
    int present[CONTENDERS];
    const size_t count = list_contenders(timing->contenders, present);
    for (size_t i = 0; i < count; ++i) {
        const int turn = present[(i + round) % count];
        contender_samples *samples = &timing->samples[turn];
        sample result = {NAN, NAN, NAN, NAN};
        const int failed =
            timing->protocol == PROTOCOL_BURST
                ? burst(watch, &contenders[turn], samples, timing->burst_launches, &result)
                : sustained(watch, &contenders[turn], samples, &result);
        if (failed) {
            return 1;
        }
        samples->seconds[round] = result.seconds;
        samples->clock_ghz[round] = result.clock_ghz;
        samples->watts[round] = result.watts;
        samples->joules[round] = result.joules;
    }
    ++timing->rounds;
    return 0;
}

static int run_rounds(const stopwatch *watch, size_t rounds, const contender contenders[CONTENDERS],
                      timing *timing) {
    progress progress;
    progress_begin(&progress, "timing (Ctrl-C ends it after the round)");
    int failed = 0;
    while (timing->rounds < rounds && !interrupted && !failed) {
        failed = run_round(watch, contenders, timing);
        progress_update(&progress, (double)timing->rounds / (double)rounds);
    }
    progress_end(&progress);
    timing->interrupted = timing->rounds < rounds;
    if (!failed && timing->rounds == 0) {
        message("interrupted before the first timed round was done: there is nothing to report");
        return 1;
    }
    return failed;
}

static int allocate_samples(timing *timing, size_t rounds) {
    for (int i = 0; i < CONTENDERS; ++i) {
        contender_samples *samples = &timing->samples[i];
        samples->seconds = calloc(rounds, sizeof(double));
        samples->clock_ghz = calloc(rounds, sizeof(double));
        samples->watts = calloc(rounds, sizeof(double));
        samples->joules = calloc(rounds, sizeof(double));
        if (samples->seconds == NULL || samples->clock_ghz == NULL || samples->watts == NULL ||
            samples->joules == NULL) {
            message("no memory for the times of %zu rounds", rounds);
            return 1;
        }
    }
    return 0;
}

int timing_run(const device *device, const options *options, size_t copies, work work,
               const contender contenders[CONTENDERS], contender_set set, timing *timing) {
    timing->contenders = set;
    timing->protocol = options->protocol;
    timing->work = work;
    const size_t rounds = (size_t)options->rounds;
    if (allocate_samples(timing, rounds) != 0) {
        return 1;
    }
    /* SA_RESETHAND: the second Ctrl-C does what it always does. */
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    struct sigaction previous;
    sigemptyset(&action.sa_mask);
    interrupted = 0;
    if (sigaction(SIGINT, &action, &previous) != 0) {
        message("catching Ctrl-C failed: %s", strerror(errno));
        return 1;
    }
    stopwatch watch;
    int failed = stopwatch_open(&watch, device, copies);
    failed = failed || (timing->protocol == PROTOCOL_BURST &&
                        choose_burst_launches(&watch, contenders, timing) != 0);
    failed = failed || run_rounds(&watch, rounds, contenders, timing);
    stopwatch_close(&watch);
    sigaction(SIGINT, &previous, NULL);
    return failed;
}

void timing_free(timing *timing) {
    for (int i = 0; i < CONTENDERS; ++i) {
        free(timing->samples[i].seconds);
        free(timing->samples[i].clock_ghz);
        free(timing->samples[i].watts);
        free(timing->samples[i].joules);
    }
    memset(timing, 0, sizeof *timing);
}
