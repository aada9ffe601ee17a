#include "harness/gpu/meter.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/clocks.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"

/* Launches are enqueued in chunks of about this long. Several are in flight, so that a slow look at
 * the counter never leaves the GPU without work. */
static const double CHUNK_SECONDS = 0.03;
enum { CHUNKS_IN_FLIGHT = 4, MOST_LAUNCHES_PER_CHUNK = 1000, CALIBRATION_LAUNCHES = 3 };
static const long LOOK_NANOSECONDS = 500000; /* between two looks at the counter */

typedef struct state {
    const device *device;
    const metered_work *work;
    clocks *clocks;
    cudaEvent_t begin, end;
    cudaEvent_t done[CHUNKS_IN_FLIGHT]; /* of a chunk each, in turn */
    size_t enqueued, finished;          /* chunks */
    size_t chunk;                       /* launches in one */
    size_t launches;
    double start; /* of the looks at the counter */
    double last_look, first_joules, last_joules;
} state;

static void nap(void) {
    const struct timespec time = {0, LOOK_NANOSECONDS};
    if (nanosleep(&time, NULL) != 0 && errno != EINTR) {
        message("sleeping failed: %s", strerror(errno)); /* then it looks more often */
    }
}

static int launch(state *state, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (state->work->launch(state->work->context, state->launches) != 0) {
            return 1;
        }
        ++state->launches;
    }
    return 0;
}

/* True if the oldest chunk in flight has been done. */
static bool oldest_done(state *state, int *failed) {
    const cudaError_t status = cudaEventQuery(state->done[state->finished % CHUNKS_IN_FLIGHT]);
    if (status == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* no failure */
        return false;
    }
    *failed = cuda_failed(status, "asking whether launches of %s are done", state->work->name);
    return !*failed;
}

/* Enqueues chunks until enough are in flight. Nothing if nothing is to run. */
static int keep_busy(state *state) {
    int failed = 0;
    if (state->work->launch == NULL) {
        return 0;
    }
    while (state->finished < state->enqueued && oldest_done(state, &failed)) {
        ++state->finished;
    }
    while (!failed && state->enqueued - state->finished < CHUNKS_IN_FLIGHT) {
        failed = launch(state, state->chunk) ||
                 cuda_failed(cudaEventRecord(state->done[state->enqueued % CHUNKS_IN_FLIGHT],
                                             state->device->stream),
                             "recording an event");
        ++state->enqueued;
    }
    return failed;
}

static double now(const state *state) { return monotonic_seconds() - state->start; }

static void first_look(state *state) {
    state->start = monotonic_seconds();
    state->first_joules = state->last_joules = device_energy_joules(state->device);
    state->last_look = now(state);
}

/* Looks at the counter, and writes a step down. */
static int look(state *state, edges *edges) {
    const double before = state->last_look;
    const double joules = device_energy_joules(state->device);
    state->last_look = now(state);
    if (!isfinite(joules) || joules == state->last_joules || edges == NULL) {
        state->last_joules = joules;
        return 0;
    }
    if (edges->count == MOST_EDGES) {
        message("the energy counter moved more than %d times: measure fewer seconds", MOST_EDGES);
        return 1;
    }
    edges->before[edges->count] = before;
    edges->after[edges->count] = state->last_look;
    edges->joules[edges->count++] = joules - state->first_joules;
    state->last_joules = joules;
    return 0;
}

/* For so many seconds. */
static int run_for(state *state, double seconds, edges *edges) {
    const double until = now(state) + seconds;
    while (now(state) < until) {
        if (keep_busy(state) != 0 || look(state, edges) != 0) {
            return 1;
        }
        nap();
    }
    return 0;
}

/* Until the GPU has come to this event of its stream. */
static int run_until(state *state, cudaEvent_t event) {
    for (;;) {
        const cudaError_t status = cudaEventQuery(event);
        if (status != cudaErrorNotReady) {
            return cuda_failed(status, "waiting for launches of %s", state->work->name);
        }
        (void)cudaGetLastError();
        if (keep_busy(state) != 0 || look(state, NULL) != 0) {
            return 1;
        }
        nap();
    }
}

static int elapsed(const state *state, double *seconds) {
    float milliseconds = 0;
    const int failed = cuda_failed(cudaEventElapsedTime(&milliseconds, state->begin, state->end),
                                   "reading the time between two events");
    *seconds = 1e-3 * (double)milliseconds;
    return failed;
}

/* How many launches a chunk has. */
static int calibrate(state *state) {
    struct CUstream_st *stream = state->device->stream;
    double seconds = 0;
    if (state->work->launch == NULL) {
        return 0;
    }
    if (launch(state, 1) != 0 ||
        cuda_failed(cudaEventRecord(state->begin, stream), "recording an event") ||
        launch(state, CALIBRATION_LAUNCHES) != 0 ||
        cuda_failed(cudaEventRecord(state->end, stream), "recording an event") ||
        device_wait(state->device, state->work->name) != 0 || elapsed(state, &seconds) != 0) {
        return 1;
    }
    const double wanted = ceil(CHUNK_SECONDS * CALIBRATION_LAUNCHES / seconds);
    state->chunk = wanted > MOST_LAUNCHES_PER_CHUNK ? MOST_LAUNCHES_PER_CHUNK
                   : wanted < 1                     ? 1
                                                    : (size_t)wanted;
    return 0;
}

static int enqueue_begin(state *state) {
    struct CUstream_st *stream = state->device->stream;
    return clocks_clear(state->clocks, stream) ||
           clocks_read(state->clocks, CLOCK_BEFORE, stream) ||
           cuda_failed(cudaEventRecord(state->begin, stream), "recording an event");
}

static int enqueue_end(state *state) {
    struct CUstream_st *stream = state->device->stream;
    return cuda_failed(cudaEventRecord(state->end, stream), "recording an event") ||
           clocks_read(state->clocks, CLOCK_AFTER, stream);
}

static void read_limits(const state *state, double seconds[CLOCK_LIMITS]) {
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        seconds[i] = nvml_limited_seconds(state->device->nvml, (enum clock_limit)i);
    }
}

/* The seconds that count. Between two events of the stream nothing but launches is enqueued; the
 * steps of the counter are those between the first event and the last launch's being enqueued, when
 * there is still work in flight. */
static int run_busy(state *state, double seconds, metered *result) {
    double all;
    double limited[CLOCK_LIMITS];
    if (enqueue_begin(state) != 0) {
        return 1;
    }
    const size_t first = state->launches;
    if (run_until(state, state->begin) != 0) {
        return 1;
    }
    read_limits(state, limited);
    const double begun = now(state);
    if (run_for(state, seconds, &result->edges) != 0) {
        return 1;
    }
    read_limits(state, result->limited);
    const double passed = now(state) - begun;
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        result->limited[i] = (result->limited[i] - limited[i]) / passed;
    }
    if (enqueue_end(state) != 0 || device_wait(state->device, state->work->name) != 0 ||
        elapsed(state, &all) != 0) {
        return 1;
    }
    result->launches = state->launches - first;
    result->seconds = all / (double)result->launches;
    return clocks_mean_ghz(state->clocks, state->device->stream, &result->clock_ghz);
}

static int run_idle(state *state, double seconds, metered *result) {
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        result->limited[i] = NAN; /* an idle clock is low for reasons of its own */
    }
    if (run_for(state, seconds, &result->edges) != 0) {
        return 1;
    }
    result->launches = 0;
    result->seconds = NAN;
    result->clock_ghz = nvml_sm_clock_ghz(state->device->nvml);
    return 0;
}

static int run(state *state, double warm_up, double seconds, metered *result) {
    if (calibrate(state) != 0) {
        return 1;
    }
    first_look(state);
    if (run_for(state, warm_up, NULL) != 0) {
        return 1;
    }
    result->celsius[0] = nvml_celsius(state->device->nvml);
    const bool idle = state->work->launch == NULL;
    if ((idle ? run_idle : run_busy)(state, seconds, result) != 0) {
        return 1;
    }
    result->celsius[1] = nvml_celsius(state->device->nvml);
    return 0;
}

static int open_all(state *state) {
    state->clocks = clocks_open(state->device->info.sms);
    int failed = state->clocks == NULL ||
                 cuda_failed(cudaEventCreate(&state->begin), "making an event") ||
                 cuda_failed(cudaEventCreate(&state->end), "making an event");
    for (int i = 0; i < CHUNKS_IN_FLIGHT && !failed; ++i) {
        failed = cuda_failed(cudaEventCreateWithFlags(&state->done[i], cudaEventDisableTiming),
                             "making an event");
    }
    return failed;
}

static void destroy(cudaEvent_t event) {
    if (event != NULL) {
        (void)cudaEventDestroy(event); /* after a fault this repeats a reported error */
    }
}

static void close_all(state *state) {
    destroy(state->begin);
    destroy(state->end);
    for (int i = 0; i < CHUNKS_IN_FLIGHT; ++i) {
        destroy(state->done[i]);
    }
    clocks_close(state->clocks);
}

double edges_watts(const edges *edges) {
    if (edges->count < 2) {
        return NAN;
    }
    const size_t last = edges->count - 1;
    const double seconds =
        (edges->before[last] + edges->after[last]) / 2 - (edges->before[0] + edges->after[0]) / 2;
    return (edges->joules[last] - edges->joules[0]) / seconds;
}

int meter(const device *device, const metered_work *work, double warm_up, double seconds,
          metered *result) {
    state state = {.device = device, .work = work, .chunk = 1};
    memset(result, 0, sizeof *result);
    const int failed = open_all(&state) || run(&state, warm_up, seconds, result);
    close_all(&state);
    return failed;
}
