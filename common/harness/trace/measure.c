/* What a traced rung's program measures, on either machine: the events of one CTA in one launch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffers.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/trace.h"

bool machine_traces(void) { return true; }
void machine_launched(const char *order) { (void)order; }

/* The launch to trace, between the moment when it is wanted and the moment when it is started. */
static struct {
    trace *wanted; /* NULL: the next launch is an ordinary one */
    int cta;       /* or MIDDLE_CTA */
    trace_control control;
} request;

/* Ends the program if the launch cannot be traced. */
static void check_launch(const uint32_t *block, const trace *trace) {
    if (block[1] * block[2] != 1 || trace_warps(trace) > TRACE_MOST_WARPS) {
        end_with(STATUS_USAGE,
                 "a CTA of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                 " threads cannot be traced: it is one row of 1024 at most that can",
                 block[0], block[1], block[2]);
    }
    if (request.cta != MIDDLE_CTA && (uint64_t)request.cta >= trace->ctas) {
        end_with(STATUS_USAGE, "--cta %d: this launch has %" PRIu64 " CTAs, numbered from 0",
                 request.cta, trace->ctas);
    }
}

/* A launch that is not to be traced records nothing. */
trace_control trace_next_launch(const uint32_t grid[3], const uint32_t block[3]) {
    trace *trace = request.wanted;
    if (trace == NULL) {
        return (trace_control){0};
    }
    request.wanted = NULL;
    memcpy(trace->grid, grid, sizeof trace->grid);
    memcpy(trace->block, block, sizeof trace->block);
    trace->ctas = (uint64_t)grid[0] * grid[1] * grid[2];
    check_launch(block, trace);
    trace->number = request.cta == MIDDLE_CTA ? trace->ctas / 2 : (uint64_t)request.cta;
    trace->cta[0] = (uint32_t)(trace->number % grid[0]);
    trace->cta[1] = (uint32_t)(trace->number / grid[0] % grid[1]);
    trace->cta[2] = (uint32_t)(trace->number / grid[0] / grid[1]);
    memcpy(request.control.cta, trace->cta, sizeof trace->cta);
    return request.control;
}

/* Launches each contender once; their outputs are checked. */
static void launch_and_verify(workload *workload, verification *verification, trace *trace) {
    workload_poison(workload);
    trace->order = machine_choose_order(workload->options, 0);
    trace_listen(trace);
    for (int who = 0; who < workload->contenders; ++who) {
        contender *contender = &workload->contender[who];
        contender->launch(contender, contender->launches++);
        device_wait(workload->device, contender->title);
    }
    trace_listen_no_more();
    verify_after_timing(workload, verification);
}

/* A warp's last accesses have no later event that would have recorded them. */
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

/* What the launch has recorded. A kernel that calls no traced function has nothing to show. */
static void download(const buffer *warps, const buffer *events, trace *trace) {
    const size_t count = trace_warps(trace);
    uint32_t most = 0;
    buffer_download(warps, trace->warp, count * sizeof *trace->warp);
    buffer_download(events, trace->event, count * trace->capacity * sizeof *trace->event);
    for (size_t i = 0; i < count; ++i) {
        add_last_touches(trace, i);
        most = trace->warp[i].events > most ? trace->warp[i].events : most;
    }
    if (most == 0) {
        end_with(STATUS_FAILED, "CTA %" PRIu64 " of %" PRIu64 " did nothing that is traced",
                 trace->number, trace->ctas);
    }
}

void machine_measure(workload *workload, verification *verification, report *report) {
    const options *options = workload->options;
    static trace trace;
    free(trace.event); /* of the run before, with --runs */
    free(trace.operation);
    trace = (struct trace){.capacity = (uint32_t)options->events};
    const size_t most = (size_t)TRACE_MOST_WARPS * trace.capacity;
    const buffer warps = buffer_create(sizeof trace.warp, false, "the traced warps");
    const buffer events = buffer_create(most * sizeof *trace.event, false, "the trace's events");
    buffer_upload(&warps, trace.warp, sizeof trace.warp); /* all 0 */
    trace.event = allocate(most, sizeof *trace.event);
    request.wanted = &trace;
    request.cta = options->cta;
    request.control = (trace_control){.warps = (trace_warp *)(void *)warps.payload,
                                      .events = (trace_event *)(void *)events.payload,
                                      .capacity = trace.capacity};
    launch_and_verify(workload, verification, &trace);
    if (verification_right(verification, workload)) {
        download(&warps, &events, &trace);
        report->trace = &trace;
    }
    buffer_destroy(&warps);
    buffer_destroy(&events);
}
