#include <inttypes.h>
#include <stdbool.h>

#include "harness/report.h"

/* In the order of enum trace_what. */
static const char *const WHAT[TRACE_WHATS] = {
    "layout",   "init",          "wait",  "arrive",       "expect",     "load",        "landed",
    "multiply", "multiply wait", "store", "store commit", "store wait", "copy commit", "copy wait",
    "barrier",  "cluster",       "copy",  "read",         "write"};

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

/* A member of a record, which is written as a list with one value for each record. */
typedef struct column {
    const char *key;
    size_t offset;                     /* of a uint32_t, or a bool */
    enum { NUMBER, TIME, IS_SO } kind; /* a time counts from the earliest */
    const char *const *names;          /* then the number is that of one */
} column;

static void write_columns(json *json, const column *columns, const void *records, size_t length,
                          size_t stride, uint32_t first) {
    for (const column *column = columns; column->key != NULL; ++column) {
        json_open(json, column->key, '[');
        for (size_t i = 0; i < length; ++i) {
            const void *at = (const char *)records + i * stride + column->offset;
            if (column->kind == IS_SO) {
                json_bool(json, NULL, *(const bool *)at);
            } else if (column->names != NULL) {
                json_text(json, NULL, column->names[*(const uint32_t *)at]);
            } else {
                const uint32_t from = column->kind == TIME ? first : 0;
                json_integer(json, NULL, *(const uint32_t *)at - from);
            }
        }
        json_close(json, ']');
    }
}

static void write_warp(json *json, const trace *trace, size_t number, uint32_t first) {
    static const column COLUMNS[] = {{"what", offsetof(trace_event, what), NUMBER, WHAT},
                                     {"begin", offsetof(trace_event, begin), TIME, NULL},
                                     {"end", offsetof(trace_event, end), TIME, NULL},
                                     {"line", offsetof(trace_event, line), NUMBER, NULL},
                                     {"address", offsetof(trace_event, address), NUMBER, NULL},
                                     {"other", offsetof(trace_event, other), NUMBER, NULL},
                                     {"value", offsetof(trace_event, value), NUMBER, NULL},
                                     {"extra", offsetof(trace_event, extra), NUMBER, NULL},
                                     {NULL, 0, NUMBER, NULL}};
    const size_t count = kept(trace, number);
    json_open(json, NULL, '{');
    json_integer(json, "warp", number);
    json_integer(json, "not_kept", trace->warp[number].events - count);
    write_columns(json, COLUMNS, events_of(trace, number), count, sizeof(trace_event), first);
    json_close(json, '}');
}

static void write_operations(json *json, const trace *trace, uint32_t first) {
    static const column COLUMNS[] = {
        {"kind", offsetof(emulator_operation, kind), NUMBER, OPERATION},
        {"own", offsetof(emulator_operation, is_own), IS_SO, NULL},
        {"warp", offsetof(emulator_operation, warp), NUMBER, NULL},
        {"started", offsetof(emulator_operation, started), TIME, NULL},
        {"happened", offsetof(emulator_operation, happened), TIME, NULL},
        {"tile", offsetof(emulator_operation, tile), NUMBER, NULL},
        {"barrier", offsetof(emulator_operation, barrier), NUMBER, NULL},
        {NULL, 0, NUMBER, NULL}};
    json_open(json, "operations", '{');
    write_columns(json, COLUMNS, trace->operation, trace->operations, sizeof *trace->operation,
                  first);
    json_close(json, '}');
}

static void write_three(json *json, const char *key, const uint32_t *three) {
    json_numbers(json, key, (const double[]){three[0], three[1], three[2]}, 3, 10);
}

/* How long the warp with the most readings took by both clocks, from which follows the mean clock;
 * 0 and 0 if no warp read them twice, or if there is only one clock. */
static void write_clocks(json *json, const trace *trace) {
    const trace_warp *most = &trace->warp[0];
    for (size_t warp = 1; warp < trace_warps(trace); ++warp) {
        most = trace->warp[warp].events > most->events ? &trace->warp[warp] : most;
    }
    json_open(json, "clocks", '{');
    json_integer(json, "sm", most->sm);
    json_integer(json, "cycles", (uint32_t)(most->last_time - most->first_time));
    json_integer(json, "nanoseconds", most->last_ns - most->first_ns);
    json_close(json, '}');
}

void trace_write(json *json, const trace *trace) {
    const uint32_t first = earliest(trace);
    json_text(json, "time_unit", trace->time_unit);
    json_text(json, "policy", trace->order != NULL ? trace->order : "");
    write_three(json, "grid", trace->grid);
    write_three(json, "block", trace->block);
    write_three(json, "block_index", trace->cta);
    json_integer(json, "cta", trace->number);
    json_integer(json, "ctas", trace->ctas);
    json_integer(json, "capacity", trace->capacity);
    write_clocks(json, trace);
    json_open(json, "warps", '[');
    for (size_t warp = 0; warp < trace_warps(trace); ++warp) {
        if (trace->warp[warp].events > 0) {
            write_warp(json, trace, warp, first);
        }
    }
    json_close(json, ']');
    write_operations(json, trace, first);
}
