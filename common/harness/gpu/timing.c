#include "harness/timing.h"

#include <math.h>

#include "harness/gpu/clocks.h"
#include "harness/gpu/meter.h"
#include "harness/message.h"

static const double BURST_LEAST_SECONDS = 0.5e-3;
static const double SUSTAINED_SECONDS = 1.0;
static const double SUSTAINED_WARM_UP_SECONDS = 0.3;
/* Before the first sample of a process: the chip has been idle, and the driver's energy counter
 * follows the power with a delay. After one second it still reads low. */
static const double SUSTAINED_FIRST_WARM_UP_SECONDS = 3.0;
enum { CALIBRATION_LAUNCHES = 3 };

/* What all rounds share. */
typedef struct session {
    const device *device;
    const contenders *contenders;
    timing *timing;
    size_t copies;
    bool warm; /* a sustained sample has been taken */
} session;

static void wait_for(const session *session, int who) {
    device_wait(session->device, session->contenders->names[who]);
}

/* Enqueues launches, each on the next copy of the operands. */
static void launch(const session *session, int who, size_t count) {
    const contenders *contenders = session->contenders;
    contender_samples *samples = &session->timing->samples[who];
    for (size_t i = 0; i < count; ++i) {
        contenders->launch(contenders->context, who, samples->launches++ % session->copies);
    }
}

/* The seconds per launch, for this many launches after a warm-up launch and, if gated, the gate.
 * The clocks are read outside the time, so that the readings cost no timed microsecond. */
static double time_launches(const session *session, int who, size_t launches, bool gated) {
    struct CUstream_st *stream = session->device->stream;
    const int sms = session->device->info.sms;
    if (gated) {
        gate_close(stream);
    }
    launch(session, who, 1);
    clocks_read(sms, CLOCK_BEFORE, stream);
    watch_start(stream);
    launch(session, who, launches);
    watch_stop(stream);
    clocks_read(sms, CLOCK_AFTER, stream);
    gate_open();
    wait_for(session, who);
    if (gated) {
        gate_check();
    }
    return watch_seconds() / (double)launches;
}

static void burst(const session *session, int who, double result[MEASURES]) {
    struct CUstream_st *stream = session->device->stream;
    clocks_clear(stream);
    wait_for(session, who);
    sleep_seconds(1e-3 * IDLE_MS);
    result[SECONDS] =
        time_launches(session, who, session->timing->launches, session->timing->gated);
    result[CLOCK_GHZ] = clocks_mean_ghz(stream);
}

/* The clock is not read: the kernel that reads it would make the stream busy. */
static void call(const session *session, int who, double result[MEASURES]) {
    double seconds[CALLS_PER_ROUND];
    sleep_seconds(1e-3 * IDLE_MS);
    for (int i = -1; i < CALLS_PER_ROUND; ++i) { /* the first one warms up */
        const double begin = monotonic_seconds();
        launch(session, who, 1);
        wait_for(session, who);
        if (i >= 0) {
            seconds[i] = monotonic_seconds() - begin;
        }
    }
    result[SECONDS] = median(seconds, CALLS_PER_ROUND);
}

/* What the meter keeps the GPU busy with. */
typedef struct busy {
    const session *session;
    int who;
} busy;

static void launch_busy(void *context, size_t number) {
    const busy *busy = context;
    (void)number; /* the copies of the operands are counted over all of a contender's launches */
    launch(busy->session, busy->who, 1);
}

static void sustained(session *session, int who, double result[MEASURES]) {
    static metered metered; /* too large for the stack */
    busy busy = {session, who};
    const metered_work work = {session->contenders->names[who], launch_busy, &busy};
    meter(session->device, &work,
          session->warm ? SUSTAINED_WARM_UP_SECONDS : SUSTAINED_FIRST_WARM_UP_SECONDS,
          SUSTAINED_SECONDS, &metered);
    session->warm = true;
    result[SECONDS] = metered.seconds;
    result[CLOCK_GHZ] = metered.clock_ghz;
    result[WATTS] = edges_watts(&metered.edges);
    result[JOULES] = result[WATTS] * metered.seconds;
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        session->timing->samples[who].limited[i] += metered.limited[i];
    }
}

/* How many launches a round of the burst protocol times: one number for all contenders, so that
 * none of them warms up over more launches; enough for the fastest to fill a certain time, within
 * limits. Before that, everything that is launched after a gate is launched without one. */
static size_t burst_launches(const session *session) {
    const timing *timing = session->timing;
    double launches = BURST_LEAST_LAUNCHES;
    for (int who = 0; who < CONTENDERS; ++who) {
        if (has_contender(timing->contenders, who)) {
            (void)time_launches(session, who, 1, false);
            const double seconds = time_launches(session, who, CALIBRATION_LAUNCHES, timing->gated);
            launches = fmax(launches, ceil(BURST_LEAST_SECONDS / seconds));
        }
    }
    return launches > BURST_MOST_LAUNCHES ? BURST_MOST_LAUNCHES : (size_t)launches;
}

/* Times all contenders, beginning with the one whose turn it is. */
static void run_round(session *session, size_t turn) {
    timing *timing = session->timing;
    const size_t round = timing->rounds;
    int present[CONTENDERS];
    size_t count = 0;
    for (int who = 0; who < CONTENDERS; ++who) {
        if (has_contender(timing->contenders, who)) {
            present[count++] = who;
        }
    }
    for (size_t i = 0; i < count; ++i) {
        const int who = present[(i + round + turn) % count];
        double result[MEASURES] = {NAN, NAN, NAN, NAN};
        if (timing->protocol == PROTOCOL_BURST) {
            burst(session, who, result);
        } else if (timing->protocol == PROTOCOL_CALL) {
            call(session, who, result);
        } else {
            sustained(session, who, result);
        }
        for (int measure = 0; measure < MEASURES; ++measure) {
            timing->samples[who].of[measure][round] = result[measure];
        }
    }
    ++timing->rounds;
}

void timing_run(const device *device, const options *options, size_t copies, work work,
                const contenders *contenders, timing *timing) {
    const size_t rounds = (size_t)options->rounds;
    session session = {device, contenders, timing, copies, false};
    progress progress;
    timing->contenders = contenders->set;
    timing->protocol = options->protocol;
    timing->work = work;
    timing->gated = timing->protocol == PROTOCOL_BURST && !options->ungated;
    for (int i = 0; i < CONTENDERS * MEASURES; ++i) {
        timing->samples[i / MEASURES].of[i % MEASURES] = allocate(rounds, sizeof(double));
    }
    interrupt_catch();
    timing->launches = timing->protocol == PROTOCOL_BURST  ? burst_launches(&session)
                       : timing->protocol == PROTOCOL_CALL ? CALLS_PER_ROUND
                                                           : 0;
    progress_begin(&progress, "timing (Ctrl-C ends it after the round)");
    while (timing->rounds < rounds && !interrupted()) {
        run_round(&session, (size_t)options->turn);
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
