#include "harness/gpu/meter.h"

#include <cuda_runtime_api.h>
#include <math.h>

#include "harness/gpu/clocks.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"

/* Launches are enqueued in chunks of about this long. Several are in flight, so that a slow reading
 * of the counter never leaves the GPU idle. */
static const double CHUNK_SECONDS = 0.03;
enum { CHUNKS_IN_FLIGHT = 4, MOST_LAUNCHES_PER_CHUNK = 1000, CALIBRATION_LAUNCHES = 3 };
static const double LOOK_SECONDS = 0.5e-3; /* between two readings of the counter */

/* The energy counter moves in steps, about every 100 ms. One is between the last reading before it
 * and the first one after it. */
typedef struct energy {
    double looked, joules;   /* at the last reading */
    int steps;               /* that count */
    double begin[2], end[2]; /* of the first of these and of the last: seconds, joules */
} energy;

typedef struct state {
    const device *device;
    const metered_work *work;
    cudaEvent_t done[CHUNKS_IN_FLIGHT]; /* of a chunk each, in turn */
    size_t enqueued, finished;          /* chunks */
    size_t chunk;                       /* launches in one */
    size_t launches;
    energy energy;
} state;

static void launch(state *state, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        state->work->launch(state->work->context);
    }
    state->launches += count;
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

/* Enqueues chunks until enough are in flight. */
static void keep_busy(state *state) {
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

/* Reads the counter, and notes a step if steps count. */
static void look(energy *energy, bool counts) {
    const double joules = nvml_energy_joules();
    const double now = monotonic_seconds();
    if (counts && isfinite(joules) && joules != energy->joules) {
        energy->end[0] = (energy->looked + now) / 2;
        energy->end[1] = joules;
        if (energy->steps++ == 0) {
            energy->begin[0] = energy->end[0];
            energy->begin[1] = energy->end[1];
        }
    }
    energy->looked = now;
    energy->joules = joules;
}

static void turn(state *state, bool counts) {
    keep_busy(state);
    look(&state->energy, counts);
    sleep_seconds(LOOK_SECONDS);
}

static void run_for(state *state, double seconds, bool counts) {
    const double until = monotonic_seconds() + seconds;
    while (monotonic_seconds() < until) {
        turn(state, counts);
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
    state->chunk = (size_t)fmin(fmax(wanted, 1), MOST_LAUNCHES_PER_CHUNK);
}

/* The seconds that count. Between two points of the stream nothing but launches is enqueued; the
 * steps of the counter are those between the first point and the last launch's being enqueued, when
 * there is still work in flight. */
static metered run_busy(state *state, double seconds) {
    struct CUstream_st *stream = state->device->stream;
    const int sms = state->device->info.sms;
    const energy *energy = &state->energy;
    double before[CLOCK_LIMITS];
    metered result;
    clocks_clear(stream);
    clocks_read(sms, CLOCK_BEFORE, stream);
    watch_start(stream);
    const size_t first = state->launches;
    const size_t before_start = state->enqueued;
    while (state->finished < before_start) {
        turn(state, false);
    }
    const double begun = monotonic_seconds();
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        before[i] = nvml_limited_seconds((enum clock_limit)i);
    }
    run_for(state, seconds, true);
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        const double limited = nvml_limited_seconds((enum clock_limit)i) - before[i];
        result.limited[i] = limited / (monotonic_seconds() - begun);
    }
    watch_stop(stream);
    clocks_read(sms, CLOCK_AFTER, stream);
    device_wait(state->device, state->work->name);
    result.seconds = watch_seconds() / (double)(state->launches - first);
    result.clock_ghz = clocks_mean_ghz(stream);
    result.watts = energy->steps < 2
                       ? NAN
                       : (energy->end[1] - energy->begin[1]) / (energy->end[0] - energy->begin[0]);
    return result;
}

metered meter(const device *device, const metered_work *work, double warm_up, double seconds) {
    state state = {.device = device, .work = work};
    for (int i = 0; i < CHUNKS_IN_FLIGHT; ++i) {
        cuda_check(cudaEventCreateWithFlags(&state.done[i], cudaEventDisableTiming),
                   "making an event");
    }
    calibrate(&state);
    run_for(&state, warm_up, false);
    const metered result = run_busy(&state, seconds);
    for (int i = 0; i < CHUNKS_IN_FLIGHT; ++i) {
        (void)cudaEventDestroy(state.done[i]);
    }
    return result;
}
