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
    workload *workload;
    timing *timing;
    bool warm; /* a sustained sample has been taken */
} session;

static void wait_for(const session *session, const contender *contender) {
    device_wait(session->workload->device, contender->title);
}

/* Enqueues launches, each on the next copy of the operands. */
static void launch(const session *session, contender *contender, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        contender->launch(contender, contender->launches++ % session->workload->copies);
    }
}

/* The seconds per launch, for this many launches after a warm-up launch and, if gated, the gate.
 * The clocks are read outside the time, so that the readings cost no timed microsecond. */
static double time_launches(const session *session, contender *contender, size_t launches,
                            bool gated) {
    struct CUstream_st *stream = session->workload->device->stream;
    const int sms = session->workload->device->info.sms;
    if (gated) {
        gate_close(stream);
    }
    launch(session, contender, 1);
    clocks_read(sms, CLOCK_BEFORE, stream);
    watch_start(stream);
    launch(session, contender, launches);
    watch_stop(stream);
    clocks_read(sms, CLOCK_AFTER, stream);
    gate_open();
    wait_for(session, contender);
    if (gated) {
        gate_check();
    }
    return watch_seconds() / (double)launches;
}

static void burst(session *session, contender *contender, double result[MEASURES]) {
    struct CUstream_st *stream = session->workload->device->stream;
    clocks_clear(stream);
    wait_for(session, contender);
    sleep_seconds(1e-3 * IDLE_MS);
    result[SECONDS] =
        time_launches(session, contender, session->timing->launches, session->timing->gated);
    result[CLOCK_GHZ] = clocks_mean_ghz(stream);
}

/* The clock is not read: the kernel that reads it would make the stream busy. */
static void call(session *session, contender *contender, double result[MEASURES]) {
    double seconds[CALLS_PER_ROUND];
    sleep_seconds(1e-3 * IDLE_MS);
    for (int i = -1; i < CALLS_PER_ROUND; ++i) { /* the first one warms up */
        const double begin = monotonic_seconds();
        launch(session, contender, 1);
        wait_for(session, contender);
        if (i >= 0) {
            seconds[i] = monotonic_seconds() - begin;
        }
    }
    result[SECONDS] = median(seconds, CALLS_PER_ROUND);
}

/* What the meter keeps the GPU busy with. */
typedef struct busy {
    const session *session;
    contender *contender;
} busy;

static void launch_busy(void *context) {
    const busy *busy = context;
    launch(busy->session, busy->contender, 1);
}

static void sustained(session *session, contender *contender, double result[MEASURES]) {
    busy busy = {session, contender};
    const metered_work work = {contender->title, launch_busy, &busy};
    const metered metered =
        meter(session->workload->device, &work,
              session->warm ? SUSTAINED_WARM_UP_SECONDS : SUSTAINED_FIRST_WARM_UP_SECONDS,
              SUSTAINED_SECONDS);
    session->warm = true;
    result[SECONDS] = metered.seconds;
    result[CLOCK_GHZ] = metered.clock_ghz;
    result[WATTS] = metered.watts;
    result[JOULES] = result[WATTS] * metered.seconds;
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        contender->limited[i] += metered.limited[i];
    }
}

/* How many launches a round of the burst protocol times: one number for all contenders, so that
 * none of them warms up over more launches; enough for the fastest to fill a certain time, within
 * limits. Before that, everything that is launched after a gate is launched without one. */
static size_t burst_launches(const session *session) {
    const workload *workload = session->workload;
    double launches = BURST_LEAST_LAUNCHES;
    for (int who = 0; who < workload->contenders; ++who) {
        contender *contender = &workload->contender[who];
        workload_turn(contender, true);
        (void)time_launches(session, contender, 1, false);
        const double seconds =
            time_launches(session, contender, CALIBRATION_LAUNCHES, session->timing->gated);
        workload_turn(contender, false);
        launches = fmax(launches, ceil(BURST_LEAST_SECONDS / seconds));
    }
    return launches > BURST_MOST_LAUNCHES ? BURST_MOST_LAUNCHES : (size_t)launches;
}

/* Times all contenders, beginning with the one whose turn it is. */
static void run_round(session *session) {
    const workload *workload = session->workload;
    const options *o = workload->options;
    const size_t round = session->timing->rounds;
    for (size_t i = 0; i < (size_t)workload->contenders; ++i) {
        contender *contender =
            &workload->contender[(i + round + (size_t)o->turn) % (size_t)workload->contenders];
        double result[MEASURES] = {NAN, NAN, NAN, NAN};
        workload_turn(contender, true);
        (o->protocol == PROTOCOL_BURST  ? burst
         : o->protocol == PROTOCOL_CALL ? call
                                        : sustained)(session, contender, result);
        workload_turn(contender, false);
        for (int measure = 0; measure < MEASURES; ++measure) {
            contender->of[measure][round] = result[measure];
        }
    }
    ++session->timing->rounds;
}

void timing_run(workload *workload, timing *timing) {
    const options *o = workload->options;
    const size_t rounds = (size_t)o->rounds;
    session session = {workload, timing, false};
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
