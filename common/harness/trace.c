#include <inttypes.h>
#include <stdbool.h>

#include "harness/report.h"

/* In the order of enum trace_what. */
static const char *const WHAT[TRACE_WHATS] = {
    "layout",    "init",          "wait",    "arrive",       "expect",     "load",
    "multiply",  "multiply wait", "store",   "store commit", "store wait", "copy commit",
    "copy wait", "barrier",       "cluster", "write"};

static const char *const OPERATION[] = {[EMULATOR_LOAD] = "load",
                                        [EMULATOR_MULTIPLY] = "multiply",
                                        [EMULATOR_STORE_READ] = "store read",
                                        [EMULATOR_STORE_WRITE] = "store write"};

size_t trace_warps(const trace *trace) { return ((size_t)trace->block[0] + 31) / 32; }

static size_t kept(const trace *trace, size_t warp) {
    const uint32_t events = trace->warp[warp].events;
    return events < trace->capacity ? events : trace->capacity;
}

static const trace_event *events_of(const trace *trace, size_t warp) {
    return &trace->event[warp * trace->capacity];
}

void trace_print(FILE *out, const trace *trace) {
    size_t written = 0, lost = 0, warps = 0;
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        written += kept(trace, warp);
        lost += trace->warp[warp].events - kept(trace, warp);
        warps += trace->warp[warp].events > 0 ? 1 : 0;
    }
    fprintf(out,
            "traced     CTA %" PRIu64 " of %" PRIu64 ": %zu events of %zu of its %zu warps%s%s\n",
            trace->number, trace->ctas, written, warps, trace_warps(trace),
            trace->order != NULL ? ", under the policy " : "",
            trace->order != NULL ? trace->order : "");
    print_if(out, lost > 0,
             "not kept   %zu events after the first %" PRIu32 " of a warp; --events keeps more\n",
             lost, trace->capacity);
}

/* The earliest time. They are the low 32 bits of a clock that may have wrapped around: differences
 * are right. */
static uint32_t earliest(const trace *trace) {
    const trace_event *first = NULL;
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        for (size_t i = 0; i < kept(trace, warp); ++i) {
            const trace_event *event = events_of(trace, warp) + i;
            const bool earlier = first == NULL || (int32_t)(event->begin - first->begin) < 0;
            first = earlier ? event : first;
        }
    }
    return first->begin;
}

/* Into the list that is open. */
static void write_numbers(json *json, const uint32_t *numbers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        json_integer(json, NULL, numbers[i]);
    }
}

static void write_three(json *json, const char *key, const uint32_t *three) {
    json_open(json, key, '[');
    write_numbers(json, three, 3);
    json_close(json, ']');
}

static void write_warp(json *json, const trace *trace, size_t number, uint32_t first) {
    const trace_event *event = events_of(trace, number);
    const size_t count = kept(trace, number);
    json_open(json, NULL, '{');
    json_integer(json, "warp", number);
    json_integer(json, "not_kept", trace->warp[number].events - count);
    json_open(json, "events", '[');
    for (size_t i = 0; i < count; ++i, ++event) {
        const uint32_t numbers[] = {event->begin - first, event->end - first, event->line,
                                    event->address,       event->other,       event->value,
                                    event->extra};
        json_open(json, NULL, '[');
        json_text(json, NULL, WHAT[event->what]);
        write_numbers(json, numbers, sizeof numbers / sizeof *numbers);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static void write_operation(json *json, const emulator_operation *operation, uint32_t first) {
    const uint32_t numbers[] = {(uint32_t)operation->warp, operation->started - first,
                                operation->happened - first, operation->barrier};
    json_open(json, NULL, '[');
    json_text(json, NULL, OPERATION[operation->kind]);
    write_numbers(json, numbers, sizeof numbers / sizeof *numbers);
    json_close(json, ']');
}

void trace_write(json *json, const trace *trace) {
    const uint32_t first = earliest(trace);
    json_text(json, "time_unit", trace->order != NULL ? "emulated steps" : "SM cycles");
    json_text(json, "policy", trace->order != NULL ? trace->order : "");
    write_three(json, "grid", trace->grid);
    write_three(json, "block", trace->block);
    write_three(json, "block_index", trace->cta);
    json_integer(json, "cta", trace->number);
    json_integer(json, "ctas", trace->ctas);
    json_integer(json, "capacity", trace->capacity);
    json_open(json, "warps", '[');
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        if (trace->warp[warp].events > 0) {
            write_warp(json, trace, warp, first);
        }
    }
    json_close(json, ']');
    json_open(json, "operations", '[');
    for (size_t i = 0; i < trace->operations; ++i) {
        write_operation(json, &trace->operation[i], first);
    }
    json_close(json, ']');
}
