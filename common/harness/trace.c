#include "harness/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* In the order of enum trace_what. */
static const char *const WHAT[TRACE_WHATS] = {
    "layout",   "init",          "wait",  "arrive",       "expect",     "load",        "landed",
    "multiply", "multiply wait", "store", "store commit", "store wait", "copy commit", "copy wait",
    "barrier",  "cluster",       "copy",  "read",         "write"};

size_t trace_warps(const trace *trace) {
    const size_t threads = (size_t)trace->block[0] * trace->block[1] * trace->block[2];
    return (threads + 31) / 32;
}

int trace_add_operation(trace *trace, const trace_operation *operation) {
    if (trace->operations == trace->operations_room) {
        const size_t room = 2 * trace->operations_room + 1024;
        trace_operation *moved = realloc(trace->operation, room * sizeof *moved);
        if (moved == NULL) {
            return 1;
        }
        trace->operation = moved;
        trace->operations_room = room;
    }
    trace->operation[trace->operations++] = *operation;
    return 0;
}

void trace_free(trace *trace) {
    free(trace->event);
    free(trace->operation);
    memset(trace, 0, sizeof *trace);
}

static size_t kept(const trace *trace, size_t warp) {
    const uint32_t events = trace->warp[warp].events;
    return events < trace->capacity ? events : trace->capacity;
}

static const trace_event *events_of(const trace *trace, size_t warp) {
    return &trace->event[warp * trace->capacity];
}

void trace_print(FILE *out, const trace *trace) {
    size_t written = 0;
    size_t lost = 0;
    size_t warps = 0;
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        written += kept(trace, warp);
        lost += trace->warp[warp].events - kept(trace, warp);
        warps += trace->warp[warp].events > 0 ? 1 : 0;
    }
    fprintf(out, "traced     CTA %" PRIu64 " of %" PRIu64 ": %zu events of %zu of its %zu warps",
            trace->number, trace->ctas, written, warps, trace_warps(trace));
    if (trace->order != NULL) {
        fprintf(out, ", under the policy %s", trace->order);
    }
    fputc('\n', out);
    if (lost > 0) {
        fprintf(out,
                "not kept   %zu events behind the first %" PRIu32
                " of a warp: --events makes more room\n",
                lost, trace->capacity);
    }
    fflush(out);
}

/* Times are the low 32 bits of a clock that may have wrapped around: differences are right. */
static uint32_t earliest(const trace *trace) {
    bool found = false;
    uint32_t first = 0;
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        for (size_t i = 0; i < kept(trace, warp); ++i) {
            const uint32_t begin = events_of(trace, warp)[i].begin;
            if (!found || (int32_t)(begin - first) < 0) {
                first = begin;
                found = true;
            }
        }
    }
    return first;
}

/* A column of a warp's events, or of their operations, less `base`. */
static void write_column(json *json, const char *key, const void *records, size_t count,
                         size_t stride, size_t offset, uint32_t base) {
    json_array_begin(json, key);
    for (size_t i = 0; i < count; ++i) {
        uint32_t word;
        memcpy(&word, (const char *)records + i * stride + offset, sizeof word);
        json_unsigned(json, NULL, (uint32_t)(word - base));
    }
    json_array_end(json);
}

static void write_warp(json *json, const trace *trace, size_t number, uint32_t first) {
    static const struct {
        const char *key;
        size_t offset;
        bool is_time;
    } columns[] = {{"begin", offsetof(trace_event, begin), true},
                   {"end", offsetof(trace_event, end), true},
                   {"line", offsetof(trace_event, line), false},
                   {"address", offsetof(trace_event, address), false},
                   {"other", offsetof(trace_event, other), false},
                   {"value", offsetof(trace_event, value), false},
                   {"extra", offsetof(trace_event, extra), false}};
    const trace_event *events = events_of(trace, number);
    const size_t count = kept(trace, number);
    json_object_begin(json, NULL);
    json_unsigned(json, "warp", number);
    json_unsigned(json, "not_kept", trace->warp[number].events - count);
    json_array_begin(json, "what");
    for (size_t i = 0; i < count; ++i) {
        json_string(json, NULL, events[i].what < TRACE_WHATS ? WHAT[events[i].what] : NULL);
    }
    json_array_end(json);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        write_column(json, columns[i].key, events, count, sizeof *events, columns[i].offset,
                     columns[i].is_time ? first : 0);
    }
    json_object_end(json);
}

static void write_operations(json *json, const trace *trace, uint32_t first) {
    static const struct {
        const char *key;
        size_t offset;
        bool is_time;
    } columns[] = {{"warp", offsetof(trace_operation, warp), false},
                   {"started", offsetof(trace_operation, started), true},
                   {"happened", offsetof(trace_operation, happened), true},
                   {"tile", offsetof(trace_operation, tile), false},
                   {"barrier", offsetof(trace_operation, barrier), false}};
    json_object_begin(json, "operations");
    json_array_begin(json, "kind");
    for (size_t i = 0; i < trace->operations; ++i) {
        json_string(json, NULL, trace->operation[i].kind);
    }
    json_array_end(json);
    json_array_begin(json, "own");
    for (size_t i = 0; i < trace->operations; ++i) {
        json_bool(json, NULL, trace->operation[i].is_own);
    }
    json_array_end(json);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
        write_column(json, columns[i].key, trace->operation, trace->operations,
                     sizeof *trace->operation, columns[i].offset, columns[i].is_time ? first : 0);
    }
    json_object_end(json);
}

static void write_three(json *json, const char *key, const uint32_t *three) {
    json_array_begin(json, key);
    for (size_t i = 0; i < 3; ++i) {
        json_unsigned(json, NULL, three[i]);
    }
    json_array_end(json);
}

/* How long the warp that asked most often was seen by both clocks, from which follows the mean
 * clock; 0 and 0 if no warp asked twice, or where there is but one clock. */
static void write_clocks(json *json, const trace *trace) {
    const trace_warp *most = &trace->warp[0];
    for (size_t warp = 1; warp < trace_warps(trace); ++warp) {
        most = trace->warp[warp].events > most->events ? &trace->warp[warp] : most;
    }
    json_object_begin(json, "clocks");
    json_unsigned(json, "sm", most->sm);
    json_unsigned(json, "cycles", (uint32_t)(most->last_time - most->first_time));
    json_unsigned(json, "nanoseconds", most->last_ns - most->first_ns);
    json_object_end(json);
}

void trace_write_json(json *json, const trace *trace) {
    const uint32_t first = earliest(trace);
    json_object_begin(json, "trace");
    json_string(json, "time_unit", trace->time_unit);
    json_string(json, "policy", trace->order);
    write_three(json, "grid", trace->grid);
    write_three(json, "block", trace->block);
    write_three(json, "block_index", trace->cta);
    json_unsigned(json, "cta", trace->number);
    json_unsigned(json, "ctas", trace->ctas);
    json_unsigned(json, "capacity", trace->capacity);
    write_clocks(json, trace);
    json_array_begin(json, "warps");
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        if (trace->warp[warp].events > 0) {
            write_warp(json, trace, warp, first);
        }
    }
    json_array_end(json);
    write_operations(json, trace, first);
    json_object_end(json);
}
