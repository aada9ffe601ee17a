/* What a traced rung's program measures, on either machine: the events of one CTA in one launch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"
#include "harness/buffers.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/trace.h"

bool machine_traces(void) { return true; }
void machine_launched(const char *order) { (void)order; }

static trace traced;
/* The launch to trace, between the moment when it is wanted and the moment when it is started. */
static trace_control wanted; /* all 0: the next launch is an ordinary one */
static int wanted_cta;       /* or MIDDLE_CTA */

/* A launch that is not to be traced records nothing. One that cannot be ends the program. */
trace_control trace_next_launch(const uint32_t grid[3], const uint32_t block[3]) {
    trace_control control = wanted;
    if (control.warps == NULL) {
        return control;
    }
    memset(&wanted, 0, sizeof wanted);
    memcpy(traced.grid, grid, sizeof traced.grid);
    memcpy(traced.block, block, sizeof traced.block);
    traced.ctas = (uint64_t)grid[0] * grid[1] * grid[2];
    if (block[1] * block[2] != 1 || trace_warps(&traced) > TRACE_MOST_WARPS) {
        end_with(STATUS_USAGE,
                 "a CTA of %" PRIu32 " x %" PRIu32 " x %" PRIu32
                 " threads cannot be traced: it is one row of 1024 at most that can",
                 block[0], block[1], block[2]);
    }
    traced.number = wanted_cta == MIDDLE_CTA ? traced.ctas / 2 : (uint64_t)wanted_cta;
    if (traced.number >= traced.ctas) {
        end_with(STATUS_USAGE, "--cta %d: this launch has %" PRIu64 " CTAs, numbered from 0",
                 wanted_cta, traced.ctas);
    }
    traced.cta[0] = (uint32_t)(traced.number % grid[0]);
    traced.cta[1] = (uint32_t)(traced.number / grid[0] % grid[1]);
    traced.cta[2] = (uint32_t)(traced.number / grid[0] / grid[1]);
    memcpy(control.cta, traced.cta, sizeof traced.cta);
    return control;
}

/* An operation, of which the emulator tells; on a GPU nothing does. */
static void hear(const emulator_operation *told, void *context) {
    enum { MORE = 1024 };
    (void)context;
    if (memcmp(told->cta, traced.cta, sizeof told->cta) != 0) {
        return;
    }
    if (traced.operations % MORE == 0) {
        const size_t room = traced.operations + MORE;
        traced.operation = realloc(traced.operation, room * sizeof *traced.operation);
        if (traced.operation == NULL) {
            end_with(STATUS_FAILED,
                     "no memory for %zu operations of the trace: take a smaller shape", room);
        }
    }
    traced.operation[traced.operations++] = *told;
}

/* Launches each contender once; their outputs are checked. */
static void launch_and_verify(workload *workload, verification *verification) {
    workload_poison(workload);
    traced.order = machine_choose_order(workload->options, 0);
    emulator_listen(hear, NULL);
    for (int who = 0; who < workload->contenders; ++who) {
        contender *contender = &workload->contender[who];
        contender->launch(contender, contender->launches++);
        device_wait(workload->device, contender->title);
    }
    emulator_listen(NULL, NULL);
    verify_after_timing(workload, verification);
}

/* The results that a warp wrote last have no later event that would have recorded them. */
static void add_last_write(size_t number) {
    trace_warp *warp = &traced.warp[number];
    if (warp->wrote != 0 && warp->events++ < traced.capacity) {
        traced.event[number * traced.capacity + warp->events - 1] =
            (trace_event){.begin = warp->wrote, .end = warp->wrote, .what = TRACE_WRITE};
    }
}

/* What the launch has recorded. A kernel that calls no traced function has nothing to show. */
static void download(const buffer *warps, const buffer *events) {
    const size_t count = trace_warps(&traced);
    bool recorded = false;
    buffer_download(warps, traced.warp, count * sizeof *traced.warp);
    buffer_download(events, traced.event, count * traced.capacity * sizeof *traced.event);
    for (size_t i = 0; i < count; ++i) {
        add_last_write(i);
        recorded = recorded || traced.warp[i].events > 0;
    }
    if (!recorded) {
        end_with(STATUS_FAILED, "CTA %" PRIu64 " of %" PRIu64 " did nothing that is traced",
                 traced.number, traced.ctas);
    }
}

void machine_measure(workload *workload, verification *verification, report *report) {
    const options *options = workload->options;
    const size_t most = (size_t)TRACE_MOST_WARPS * (size_t)options->events;
    const buffer warps = buffer_create(sizeof traced.warp, false, "the traced warps");
    const buffer events = buffer_create(most * sizeof *traced.event, false, "the trace's events");
    free(traced.event); /* of the run before, with --runs */
    free(traced.operation);
    traced = (trace){.capacity = (uint32_t)options->events,
                     .event = allocate(most, sizeof *traced.event)};
    buffer_upload(&warps, traced.warp, sizeof traced.warp); /* all 0 */
    wanted_cta = options->cta;
    wanted = (trace_control){.warps = (trace_warp *)(void *)warps.payload,
                             .events = (trace_event *)(void *)events.payload,
                             .capacity = traced.capacity};
    launch_and_verify(workload, verification);
    if (verification_right(verification, workload)) {
        download(&warps, &events);
        report->trace = &traced;
    }
    buffer_destroy(&warps);
    buffer_destroy(&events);
}
