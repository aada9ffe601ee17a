#include "harness/timing.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/clocks.h"
#include "harness/gpu/gate.h"
#include "harness/gpu/meter.h"
#include "harness/message.h"

static const double BURST_LEAST_SECONDS = 0.5e-3;
static const double SUSTAINED_SECONDS = 1.0;
static const double SUSTAINED_WARM_UP_SECONDS = 0.3;
/* Before the first sample of a process: the chip has been idle, and the driver's energy counter
 * follows the power with a delay. After one second it still reads low. */
static const double SUSTAINED_FIRST_WARM_UP_SECONDS = 3.0;
enum { CALIBRATION_LAUNCHES = 3 };

static volatile sig_atomic_t interrupted = 0;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* Everything a round needs. */
typedef struct stopwatch {
    const device *device;
    clocks *clocks;
    gate *gate; /* NULL: launches start as they are enqueued */
    cudaEvent_t begin;
    cudaEvent_t end;
    size_t copies;
    size_t turn; /* the place in the list of who begins the first round */
    bool warm;   /* a sustained sample has been taken */
} stopwatch;

static int stopwatch_open(stopwatch *watch, const device *device, size_t copies, bool gated) {
    memset(watch, 0, sizeof *watch);
    watch->device = device;
    watch->copies = copies;
    watch->clocks = clocks_open(device->info.sms);
    return watch->clocks == NULL || (gated && (watch->gate = gate_create()) == NULL) ||
           cuda_failed(cudaEventCreate(&watch->begin), "making an event") ||
           cuda_failed(cudaEventCreate(&watch->end), "making an event");
}

static void destroy_event(cudaEvent_t event) {
    if (event != NULL) {
        (void)cudaEventDestroy(event); /* after a fault this repeats a reported error */
    }
}

static void stopwatch_close(stopwatch *watch) {
    destroy_event(watch->begin);
    destroy_event(watch->end);
    gate_destroy(watch->gate);
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

/* Enqueues the gate, a warm-up launch and the timed ones. */
static int enqueue_burst(const stopwatch *watch, const contender *who, contender_samples *samples,
                         size_t launches) {
    return (watch->gate != NULL && gate_close(watch->gate, watch->device->stream) != 0) ||
           launch(watch, who, samples, 1) != 0 || timed_begin(watch) != 0 ||
           launch(watch, who, samples, launches) != 0 || timed_end(watch) != 0;
}

/* The seconds of a launch, of so many after the gate. */
static int time_burst(const stopwatch *watch, const contender *who, contender_samples *samples,
                      size_t launches, double *seconds) {
    const int failed = enqueue_burst(watch, who, samples, launches);
    if (watch->gate != NULL) {
        gate_open(watch->gate); /* also after a failure, or the GPU waits for its time limit */
    }
    if (failed || wait_for(watch, who) != 0 ||
        (watch->gate != NULL && gate_expired(watch->gate) != 0) ||
        elapsed_seconds(watch, seconds) != 0) {
        return 1;
    }
    *seconds /= (double)launches;
    return 0;
}

static int burst(const stopwatch *watch, const contender *who, contender_samples *samples,
                 size_t launches, double result[MEASURES]) {
    struct CUstream_st *stream = watch->device->stream;
    if (clocks_clear(watch->clocks, stream) != 0 || wait_for(watch, who) != 0) {
        return 1;
    }
    sleep_ms(IDLE_MS);
    return time_burst(watch, who, samples, launches, &result[SECONDS]) != 0 ||
           clocks_mean_ghz(watch->clocks, stream, &result[CLOCK_GHZ]) != 0;
}

/* The clock is not read: the kernel that does would make the stream a busy one. */
static int call(const stopwatch *watch, const contender *who, contender_samples *samples,
                double result[MEASURES]) {
    double seconds[CALLS_PER_ROUND];
    sleep_ms(IDLE_MS);
    for (int i = -1; i < CALLS_PER_ROUND; ++i) { /* the first one warms up */
        const double begin = monotonic_seconds();
        if (launch(watch, who, samples, 1) != 0 || wait_for(watch, who) != 0) {
            return 1;
        }
        if (i >= 0) {
            seconds[i] = monotonic_seconds() - begin;
        }
    }
    result[SECONDS] = median(seconds, CALLS_PER_ROUND);
    return 0;
}

/* About how long a launch takes. Before that, everything that is launched after a gate is launched
 * without one. */
static int calibrate(const stopwatch *watch, const contender *who, contender_samples *samples,
                     double *seconds) {
    return timed_begin(watch) != 0 || launch(watch, who, samples, 1) != 0 ||
           timed_end(watch) != 0 || wait_for(watch, who) != 0 ||
           time_burst(watch, who, samples, CALIBRATION_LAUNCHES, seconds) != 0;
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
    timing->launches = BURST_LEAST_LAUNCHES;
    for (int i = 0; i < CONTENDERS; ++i) {
        double seconds;
        if (!has_contender(timing->contenders, i)) {
            continue;
        }
        if (calibrate(watch, &contenders[i], &timing->samples[i], &seconds) != 0) {
            return 1;
        }
        timing->launches =
            launches_in(BURST_LEAST_SECONDS, seconds, timing->launches, BURST_MOST_LAUNCHES);
    }
    return 0;
}

/* What the meter keeps the GPU busy with. */
typedef struct busy {
    const stopwatch *watch;
    const contender *who;
    contender_samples *samples;
} busy;

static int launch_busy(void *context, size_t number) {
    const busy *busy = context;
    (void)number; /* the copies of the operands are counted over all of a contender's launches */
    return launch(busy->watch, busy->who, busy->samples, 1);
}

static int sustained(stopwatch *watch, const contender *who, contender_samples *samples,
                     double result[MEASURES]) {
    static metered metered; /* too large for the stack */
    busy busy = {watch, who, samples};
    const metered_work work = {who->name, launch_busy, &busy};
    const double warm_up =
        watch->warm ? SUSTAINED_WARM_UP_SECONDS : SUSTAINED_FIRST_WARM_UP_SECONDS;
    if (meter(watch->device, &work, warm_up, SUSTAINED_SECONDS, &metered) != 0) {
        return 1;
    }
    watch->warm = true;
    result[SECONDS] = metered.seconds;
    result[CLOCK_GHZ] = metered.clock_ghz;
    result[WATTS] = edges_watts(&metered.edges);
    result[JOULES] = result[WATTS] * metered.seconds;
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        samples->limited[i] += metered.limited[i];
    }
    return 0;
}

static int run_sample(stopwatch *watch, const contender *who, timing *timing,
                      contender_samples *samples, double result[MEASURES]) {
    switch (timing->protocol) {
    case PROTOCOL_BURST:
        return burst(watch, who, samples, timing->launches, result);
    case PROTOCOL_CALL:
        return call(watch, who, samples, result);
    default:
        return sustained(watch, who, samples, result);
    }
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

static int run_round(stopwatch *watch, const contender contenders[CONTENDERS], timing *timing) {
    const size_t round = timing->rounds;
    int present[CONTENDERS];
    const size_t count = list_contenders(timing->contenders, present);
    for (size_t i = 0; i < count; ++i) {
        const int turn = present[(i + round + watch->turn) % count];
        contender_samples *samples = &timing->samples[turn];
        double result[MEASURES] = {NAN, NAN, NAN, NAN};
        if (run_sample(watch, &contenders[turn], timing, samples, result) != 0) {
            return 1;
        }
        for (int measure = 0; measure < MEASURES; ++measure) {
            samples->of[measure][round] = result[measure];
        }
    }
    ++timing->rounds;
    return 0;
}

static int run_rounds(stopwatch *watch, size_t rounds, const contender contenders[CONTENDERS],
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
    for (int i = 0; i < CONTENDERS * MEASURES; ++i) {
        double **samples = &timing->samples[i / MEASURES].of[i % MEASURES];
        *samples = calloc(rounds, sizeof **samples);
        if (*samples == NULL) {
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
    timing->gated = timing->protocol == PROTOCOL_BURST && !options->ungated;
    timing->launches = timing->protocol == PROTOCOL_CALL ? CALLS_PER_ROUND : 0;
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
    int failed = stopwatch_open(&watch, device, copies, timing->gated);
    watch.turn = (size_t)options->turn;
    failed = failed || (timing->protocol == PROTOCOL_BURST &&
                        choose_burst_launches(&watch, contenders, timing) != 0);
    failed = failed || run_rounds(&watch, rounds, contenders, timing);
    stopwatch_close(&watch);
    sigaction(SIGINT, &previous, NULL);
    return failed;
}

void timing_free(timing *timing) {
    for (int i = 0; i < CONTENDERS * MEASURES; ++i) {
        free(timing->samples[i / MEASURES].of[i % MEASURES]);
    }
    memset(timing, 0, sizeof *timing);
}
