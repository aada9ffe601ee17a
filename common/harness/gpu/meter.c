#include "harness/gpu/meter.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/gpu/clocks.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"

/* Launches are enqueued in chunks of about this long. Several are in flight, so that a slow reading
 * of the counter never leaves the GPU idle. */
static const double CHUNK_SECONDS = 0.03;
enum { CHUNKS_IN_FLIGHT = 4, MOST_LAUNCHES_PER_CHUNK = 1000, CALIBRATION_LAUNCHES = 3 };
static const double LOOK_SECONDS = 0.5e-3; /* between two readings of the counter */

typedef struct state {
    const device *device;
    const metered_work *work;
    cudaEvent_t done[CHUNKS_IN_FLIGHT]; /* of a chunk each, in turn */
    size_t enqueued, finished;          /* chunks */
    size_t chunk;                       /* launches in one */
    size_t launches;
    double start; /* of the readings of the counter */
    double last_look, first_joules, last_joules;
} state;

static void launch(state *state, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        state->work->launch(state->work->context, state->launches++);
    }
}

/* True if the oldest chunk in flight has been done. */
static bool oldest_done(const state *state) {
    const cudaError_t status = cudaEventQuery(state->done[state->finished % CHUNKS_IN_FLIGHT]);
    if (status == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* no failure */
        return false;
    }
    cuda_check(status, "asking whether launches of %s are done", state->work->name);
    return true;
}

/* Enqueues chunks until enough are in flight. Nothing if nothing is to run. */
static void keep_busy(state *state) {
    if (state->work->launch == NULL) {
        return;
    }
    while (state->finished < state->enqueued && oldest_done(state)) {
        ++state->finished;
    }
    while (state->enqueued - state->finished < CHUNKS_IN_FLIGHT) {
        launch(state, state->chunk);
        cuda_check(cudaEventRecord(state->done[state->enqueued++ % CHUNKS_IN_FLIGHT],
                                   state->device->stream),
                   "recording an event");
    }
}

static double now(const state *state) { return monotonic_seconds() - state->start; }

/* Reads the counter, and records a step. */
static void look(state *state, edges *edges) {
    const double before = state->last_look;
    const double joules = nvml_energy_joules();
    state->last_look = now(state);
    if (isfinite(joules) && joules != state->last_joules && edges != NULL) {
        if (edges->count == MOST_EDGES) {
            end_with(STATUS_FAILED,
                     "the energy counter moved more than %d times: measure fewer seconds",
                     MOST_EDGES);
        }
        edges->before[edges->count] = before;
        edges->after[edges->count] = state->last_look;
        edges->joules[edges->count++] = joules - state->first_joules;
    }
    state->last_joules = joules;
}

/* Keeps the GPU busy for this many seconds. */
static void run_for(state *state, double seconds, edges *edges) {
    const double until = now(state) + seconds;
    while (now(state) < until) {
        keep_busy(state);
        look(state, edges);
        sleep_seconds(LOOK_SECONDS);
    }
}

/* How many launches a chunk has. */
static void calibrate(state *state) {
    struct CUstream_st *stream = state->device->stream;
    launch(state, 1);
    watch_start(stream);
    launch(state, CALIBRATION_LAUNCHES);
    watch_stop(stream);
    device_wait(state->device, state->work->name);
    const double wanted = ceil(CHUNK_SECONDS * CALIBRATION_LAUNCHES / watch_seconds());
    state->chunk = wanted > MOST_LAUNCHES_PER_CHUNK ? MOST_LAUNCHES_PER_CHUNK
                   : wanted < 1                     ? 1
                                                    : (size_t)wanted;
}

static void read_limits(double seconds[CLOCK_LIMITS]) {
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        seconds[i] = nvml_limited_seconds((enum clock_limit)i);
    }
}

/* The seconds that count. Between two points of the stream nothing but launches is enqueued; the
 * steps of the counter are those between the first point and the last launch's being enqueued, when
 * there is still work in flight. */
static void run_busy(state *state, double seconds, metered *result) {
    struct CUstream_st *stream = state->device->stream;
    double limited[CLOCK_LIMITS];
    clocks_clear(stream);
    clocks_read(state->device->info.sms, CLOCK_BEFORE, stream);
    watch_start(stream);
    const size_t first = state->launches;
    while (!watch_is_running(state->work->name)) {
        keep_busy(state);
        look(state, NULL);
        sleep_seconds(LOOK_SECONDS);
    }
    read_limits(limited);
    const double begun = now(state);
    run_for(state, seconds, &result->edges);
    read_limits(result->limited);
    const double passed = now(state) - begun;
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        result->limited[i] = (result->limited[i] - limited[i]) / passed;
    }
    watch_stop(stream);
    clocks_read(state->device->info.sms, CLOCK_AFTER, stream);
    device_wait(state->device, state->work->name);
    result->launches = state->launches - first;
    result->seconds = watch_seconds() / (double)result->launches;
    result->clock_ghz = clocks_mean_ghz(stream);
}

static void run_idle(state *state, double seconds, metered *result) {
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        result->limited[i] = NAN; /* an idle clock is low for reasons of its own */
    }
    run_for(state, seconds, &result->edges);
    result->seconds = NAN;
    result->clock_ghz = nvml_sm_clock_ghz();
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

void meter(const device *device, const metered_work *work, double warm_up, double seconds,
           metered *result) {
    const bool idle = work->launch == NULL;
    state state = {.device = device, .work = work, .chunk = 1};
    memset(result, 0, sizeof *result);
    for (int i = 0; i < CHUNKS_IN_FLIGHT; ++i) {
        cuda_check(cudaEventCreateWithFlags(&state.done[i], cudaEventDisableTiming),
                   "making an event");
    }
    if (!idle) {
        calibrate(&state);
    }
    state.start = monotonic_seconds();
    state.first_joules = state.last_joules = nvml_energy_joules();
    state.last_look = now(&state);
    run_for(&state, warm_up, NULL);
    result->celsius[0] = nvml_celsius();
    (idle ? run_idle : run_busy)(&state, seconds, result);
    result->celsius[1] = nvml_celsius();
    for (int i = 0; i < CHUNKS_IN_FLIGHT; ++i) {
        (void)cudaEventDestroy(state.done[i]);
    }
}
