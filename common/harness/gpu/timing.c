#include "harness/timing.h"

#include <cuda_runtime_api.h>
#include <math.h>

#include "harness/gpu/clocks.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"

static const double BURST_LEAST_SECONDS = 0.5e-3;
static const double SUSTAINED_SECONDS = 1.0;
static const double SUSTAINED_WARM_UP_SECONDS = 0.3;
/* Before the first sample of a process: the chip has been idle, and the driver's energy counter
 * follows the power with a delay. After one second it still reads low. */
static const double SUSTAINED_FIRST_WARM_UP_SECONDS = 3.0;
/* Sustained launches are enqueued in chunks of about this long. Several are in flight, so that a
 * slow reading of the counter never leaves the GPU idle. */
static const double CHUNK_SECONDS = 0.03;
enum { CHUNKS_IN_FLIGHT = 4, MOST_LAUNCHES_PER_CHUNK = 1000, CALIBRATION_LAUNCHES = 3 };
static const double LOOK_SECONDS = 0.5e-3; /* between two readings of the counter */

typedef struct reading {
    double seconds, joules;
} reading;

/* The energy counter moves in steps, about every 100 ms. One is between the last reading before it
 * and the first one after it. */
typedef struct session {
    workload *workload;
    timing *timing;
    struct CUstream_st *stream;
    contender *contender;     /* whose turn it is */
    double warm_up;           /* of the next sustained sample, in seconds */
    size_t chunks;            /* enqueued */
    size_t chunk;             /* launches in one */
    reading last;             /* of the energy counter */
    reading first_step, step; /* that count; 0: none yet */
} session;

/* Enqueues launches, each on the next copy of the operands. */
static void launch(session *session, size_t count) {
    contender *contender = session->contender;
    for (size_t i = 0; i < count; ++i) {
        contender->launch(contender, contender->launches++ % session->workload->copies);
    }
}

static void take_result(const session *session, size_t launches, double result[MEASURES]) {
    const watched watched = watch_result(session->stream, session->contender->title);
    result[SECONDS] = watched.seconds / (double)launches;
    result[CLOCK_GHZ] = watched.ghz;
}

/* The seconds per launch, for this many launches after a warm-up launch and, if gated, the gate.
 * The clocks are read outside the time, so that the readings cost no timed microsecond. */
static void time_launches(session *session, size_t launches, bool gated, double result[MEASURES]) {
    const int sms = session->workload->device->info.sms;
    if (gated) {
        gate_close(session->stream);
    }
    launch(session, 1);
    watch_start(sms, session->stream);
    launch(session, launches);
    watch_stop(sms, session->stream);
    take_result(session, launches, result);
}

static void burst(session *session, double result[MEASURES]) {
    device_wait(session->workload->device, session->contender->title);
    sleep_seconds(1e-3 * IDLE_MS);
    time_launches(session, session->timing->launches, session->timing->gated, result);
}

/* The clock is not read: the kernel that reads it would make the stream busy. */
static void call(session *session, double result[MEASURES]) {
    double seconds[CALLS_PER_ROUND];
    sleep_seconds(1e-3 * IDLE_MS);
    for (int i = -1; i < CALLS_PER_ROUND; ++i) { /* the first one warms up */
        const double begin = monotonic_seconds();
        launch(session, 1);
        device_wait(session->workload->device, session->contender->title);
        if (i >= 0) {
            seconds[i] = monotonic_seconds() - begin;
        }
    }
    result[SECONDS] = median(seconds, CALLS_PER_ROUND);
}

/* ---- sustained: keeps the GPU busy, and watches the driver's energy counter */

static cudaEvent_t done[CHUNKS_IN_FLIGHT]; /* of a chunk each, in turn; NULL until the first use */

/* Enqueues chunks until enough are in flight: a chunk's event is used again when it has been done.
 * Reads the counter, and notes a step if it counts. */
static void keep_busy(session *session, bool counts) {
    for (int i = 0; i < CHUNKS_IN_FLIGHT; ++i) {
        const cudaEvent_t oldest = done[session->chunks % CHUNKS_IN_FLIGHT];
        const cudaError_t status = cudaEventQuery(oldest); /* success if it was never recorded */
        if (status == cudaErrorNotReady) {
            (void)cudaGetLastError(); /* no failure */
            break;
        }
        cuda_check(status, "asking whether launches of %s are done", session->contender->title);
        launch(session, session->chunk);
        cuda_check(cudaEventRecord(oldest, session->stream), "recording an event");
        ++session->chunks;
    }
    const double joules = nvml_energy_joules();
    const double now = monotonic_seconds();
    if (counts && isfinite(joules) && joules != session->last.joules) {
        session->step = (reading){(session->last.seconds + now) / 2, joules};
        if (session->first_step.seconds == 0) {
            session->first_step = session->step;
        }
    }
    session->last = (reading){now, joules};
    sleep_seconds(LOOK_SECONDS);
}

static void keep_busy_for(session *session, double seconds, bool counts) {
    const double until = monotonic_seconds() + seconds;
    while (monotonic_seconds() < until) {
        keep_busy(session, counts);
    }
}

/* After the warm-up, nothing but launches is enqueued between two points of the stream. The steps
 * that count are those between the first point and the last launch's being enqueued, when there is
 * still work in flight. */
static void time_busy(session *session, double result[MEASURES]) {
    contender *contender = session->contender;
    const int sms = session->workload->device->info.sms;
    watch_start(sms, session->stream);
    const size_t first_launch = contender->launches;
    const size_t chunks_before = session->chunks;
    while (session->chunks < chunks_before + CHUNKS_IN_FLIGHT) { /* those before are not done */
        keep_busy(session, false);
    }
    keep_busy_for(session, SUSTAINED_SECONDS, true);
    watch_stop(sms, session->stream);
    take_result(session, contender->launches - first_launch, result);
}

static void sustained(session *session, double result[MEASURES]) {
    const reading *first = &session->first_step, *last = &session->step;
    for (int i = 0; i < CHUNKS_IN_FLIGHT && done[i] == NULL; ++i) {
        cuda_check(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming), "making an event");
    }
    time_launches(session, CALIBRATION_LAUNCHES, false, result);
    const double wanted = ceil(CHUNK_SECONDS / result[SECONDS]);
    session->chunk = (size_t)fmin(fmax(wanted, 1), MOST_LAUNCHES_PER_CHUNK);
    session->first_step = session->step = (reading){0, 0};
    keep_busy_for(session, session->warm_up, false);
    session->warm_up = SUSTAINED_WARM_UP_SECONDS;
    time_busy(session, result);
    /* Of less than two steps: 0 / 0, which is NAN. */
    result[WATTS] = (last->joules - first->joules) / (last->seconds - first->seconds);
    result[JOULES] = result[WATTS] * result[SECONDS];
}

/* ---- the rounds */

/* How many launches a round of the burst protocol times: one number for all contenders, so that
 * none of them warms up over more launches; enough for the fastest to fill a certain time, within
 * limits. Before that, everything that is launched after a gate is launched without one. */
static size_t burst_launches(session *session) {
    const workload *workload = session->workload;
    double launches = BURST_LEAST_LAUNCHES;
    for (int who = 0; who < workload->contenders; ++who) {
        double result[MEASURES];
        session->contender = &workload->contender[who];
        time_launches(session, 1, false, result);
        time_launches(session, CALIBRATION_LAUNCHES, session->timing->gated, result);
        launches = fmax(launches, ceil(BURST_LEAST_SECONDS / result[SECONDS]));
    }
    return (size_t)fmin(launches, BURST_MOST_LAUNCHES);
}

/* Times all contenders, beginning with the one whose turn it is. */
static void run_round(session *session) {
    static void (*const SAMPLE[])(struct session *, double *) = {
        [PROTOCOL_BURST] = burst, [PROTOCOL_CALL] = call, [PROTOCOL_SUSTAINED] = sustained};
    const workload *workload = session->workload;
    const options *o = workload->options;
    const size_t round = session->timing->rounds;
    const size_t contenders = (size_t)workload->contenders;
    for (size_t i = 0; i < contenders; ++i) {
        contender *contender = &workload->contender[(i + round + (size_t)o->turn) % contenders];
        double result[MEASURES] = {NAN, NAN, NAN, NAN};
        session->contender = contender;
        SAMPLE[o->protocol](session, result);
        for (int measure = 0; measure < MEASURES; ++measure) {
            contender->of[measure][round] = result[measure];
        }
    }
    ++session->timing->rounds;
}

void timing_run(workload *workload, timing *timing) {
    const options *o = workload->options;
    const size_t rounds = (size_t)o->rounds;
    session session = {.workload = workload,
                       .timing = timing,
                       .stream = workload->device->stream,
                       .warm_up = SUSTAINED_FIRST_WARM_UP_SECONDS};
    progress progress;
    timing->gated = o->protocol == PROTOCOL_BURST && !o->ungated;
    for (int i = 0; i < workload->contenders * MEASURES; ++i) {
        workload->contender[i / MEASURES].of[i % MEASURES] = allocate(rounds, sizeof(double));
    }
    interrupt_catch();
    timing->launches = o->protocol == PROTOCOL_BURST  ? burst_launches(&session)
                       : o->protocol == PROTOCOL_CALL ? CALLS_PER_ROUND
                                                      : 0;
    progress_begin(&progress, "timing (Ctrl-C ends it after the round)");
    while (timing->rounds < rounds && !interrupted()) {
        run_round(&session);
        progress_update(&progress, (double)timing->rounds / (double)rounds);
    }
    progress_hide(&progress);
    timing->interrupted = timing->rounds < rounds;
    if (timing->rounds == 0) {
        end_with(STATUS_FAILED,
                 "interrupted before the first timed round was done: there is nothing to report");
    }
    interrupt_release();
}
