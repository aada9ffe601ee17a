/* What a traced rung's program measures, on either machine: the events of one CTA in one launch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffers.h"
#include "harness/exit_status.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/trace.h"
#include "harness/trace/listen.h"

bool machine_traces(void) { return true; }

/* The launch to trace, between the moment when it is wanted and the moment when it is started. */
static struct {
    trace *wanted; /* NULL: the next launch is an ordinary one */
    int cta;       /* or MIDDLE_CTA */
    trace_control control;
    bool refused; /* a line was printed */
} request;

static bool refuse(const uint32_t *block, const trace *trace) {
    if (block[1] * block[2] != 1 || trace_warps(trace) > TRACE_MOST_WARPS) {
        message("a CTA of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                " threads cannot be traced: it is one row of 1024 at most that can",
                block[0], block[1], block[2]);
        return true;
    }
    if (request.cta != MIDDLE_CTA && (uint64_t)request.cta >= trace->ctas) {
        message("--cta %d: this launch has %" PRIu64 " CTAs, numbered from 0", request.cta,
                trace->ctas);
        return true;
    }
    return false;
}

/* Of a launch that is not wanted, or refused, nothing is written down. */
trace_control trace_next_launch(const uint32_t grid[3], const uint32_t block[3]) {
    const trace_control nothing = {0};
    trace *trace = request.wanted;
    if (trace == NULL) {
        return nothing;
    }
    request.wanted = NULL;
    memcpy(trace->grid, grid, sizeof trace->grid);
    memcpy(trace->block, block, sizeof trace->block);
    trace->ctas = (uint64_t)grid[0] * grid[1] * grid[2];
    request.refused = refuse(block, trace);
    if (request.refused) {
        return nothing;
    }
    trace->number = request.cta == MIDDLE_CTA ? trace->ctas / 2 : (uint64_t)request.cta;
    trace->cta[0] = (uint32_t)(trace->number % grid[0]);
    trace->cta[1] = (uint32_t)(trace->number / grid[0] % grid[1]);
    trace->cta[2] = (uint32_t)(trace->number / grid[0] / grid[1]);
    memcpy(request.control.cta, trace->cta, sizeof trace->cta);
    return request.control;
}

/* One launch of everybody: what they wrote is checked. */
static int launch_and_verify(workload *workload, const options *o, verification *verification,
                             trace *trace) {
    timing one_launch = {0};
    if (workload_poison(workload) != 0) {
        return STATUS_FAILED;
    }
    trace->order = machine_choose_order(o, 0);
    listen_begin(trace);
    int failed = 0;
    for (int who = 0; who < CONTENDERS && !failed; ++who) {
        if (has_contender(verification->contenders, who)) {
            const contender *contender = &workload->contenders[who];
            failed = contender->launch(contender->context, 0) != 0 ||
                     device_wait(workload->device, contender->name) != 0;
            one_launch.samples[who].launches = 1;
        }
    }
    failed = listen_end() != 0 || failed;
    if (request.refused) {
        return STATUS_USAGE;
    }
    if (failed || verify_after_timing(workload, o, &one_launch, verification) != 0) {
        return STATUS_FAILED;
    }
    return verification_right(verification) ? STATUS_VERIFIED : STATUS_FAILED;
}

/* What a warp touched last has no event behind it that would have written it down. */
static void add_last_touches(trace *trace, size_t number) {
    trace_warp *warp = &trace->warp[number];
    for (uint32_t i = 0; i < TRACE_TOUCHES; ++i) {
        const trace_touch touch = warp->touch[i];
        if (touch.mark != 0 && warp->events++ < trace->capacity) {
            trace->event[number * trace->capacity + warp->events - 1] =
                (trace_event){.begin = touch.time, /* unknown, as always */
                              .end = touch.time,
                              .what = TRACE_FIRST_TOUCH + i,
                              .address = touch.mark & ~TRACE_TOUCHED};
        }
    }
}

static int download(const buffer *warps, const buffer *events, trace *trace) {
    const size_t count = trace_warps(trace);
    if (buffer_download(warps, trace->warp, count * sizeof *trace->warp) != 0 ||
        buffer_download(events, trace->event, count * trace->capacity * sizeof *trace->event) !=
            0) {
        return 1;
    }
    for (size_t i = 0; i < count; ++i) {
        add_last_touches(trace, i);
    }
    return 0;
}

static int trace_launch(workload *workload, const options *o, verification *verification,
                        trace *trace) {
    buffer warps = {0};
    buffer events = {0};
    const size_t most = (size_t)TRACE_MOST_WARPS * trace->capacity;
    int status = STATUS_FAILED;
    if (buffer_create(&warps, sizeof trace->warp, false, "the traced warps") == 0 &&
        buffer_upload(&warps, trace->warp, sizeof trace->warp) == 0 && /* all 0 */
        buffer_create(&events, most * sizeof *trace->event, false, "the trace's events") == 0) {
        request.wanted = trace;
        request.cta = o->cta;
        request.control = (trace_control){.warps = (trace_warp *)(void *)warps.payload,
                                          .events = (trace_event *)(void *)events.payload,
                                          .capacity = trace->capacity};
        status = launch_and_verify(workload, o, verification, trace);
        if (status == STATUS_VERIFIED && download(&warps, &events, trace) != 0) {
            status = STATUS_FAILED;
        }
    }
    buffer_destroy(&warps);
    buffer_destroy(&events);
    return status;
}

/* A kernel that calls nothing that is traced leaves nothing to show. */
static int check_not_empty(const trace *trace) {
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        if (trace->warp[warp].events > 0) {
            return STATUS_VERIFIED;
        }
    }
    message("CTA %" PRIu64 " of %" PRIu64 " did nothing that is traced", trace->number,
            trace->ctas);
    return STATUS_FAILED;
}

int machine_measure(workload *workload, const options *options, verification *verification,
                    report *report) {
    trace *trace = calloc(1, sizeof *trace);
    const size_t most = (size_t)TRACE_MOST_WARPS * (size_t)options->events;
    if (trace != NULL) {
        trace->event = malloc(most * sizeof *trace->event);
    }
    if (trace == NULL || trace->event == NULL) {
        message("no memory for %zu events", most);
        free(trace);
        return STATUS_FAILED;
    }
    report->trace = trace;
    trace->time_unit = listen_time_unit();
    trace->capacity = (uint32_t)options->events;
    int status = trace_launch(workload, options, verification, trace);
    if (status == STATUS_VERIFIED) {
        status = check_not_empty(trace);
    }
    if (status != STATUS_VERIFIED) {
        machine_forget(report);
    }
    return status;
}

void machine_forget(report *report) {
    if (report->trace != NULL) {
        trace_free(report->trace);
        free(report->trace);
        report->trace = NULL;
    }
}
