#include "harness/trace/listen.h"

#include <string.h>

#include "emulator/emulator.h"
#include "harness/message.h"

static int lost; /* operations that there was no memory for */

const char *listen_time_unit(void) { return "emulated steps"; }

static const char *name_of(emulator_operation_kind kind) {
    static const char *const names[] = {[EMULATOR_LOAD] = "load",
                                        [EMULATOR_MULTIPLY] = "multiply",
                                        [EMULATOR_STORE_READ] = "store read",
                                        [EMULATOR_STORE_WRITE] = "store write"};
    return names[kind];
}

static void hear(const emulator_operation *told, void *context) {
    trace *trace = context;
    if (memcmp(told->cta, trace->cta, sizeof told->cta) != 0) {
        return;
    }
    const trace_operation operation = {.kind = name_of(told->kind),
                                       .is_own = told->is_own,
                                       .warp = told->warp,
                                       .started = told->started,
                                       .happened = told->happened,
                                       .tile = told->tile,
                                       .barrier = told->barrier};
    lost += trace_add_operation(trace, &operation);
}

void listen_begin(trace *trace) {
    lost = 0;
    emulator_listen(hear, trace);
}

int listen_end(void) {
    emulator_listen(NULL, NULL);
    if (lost > 0) {
        message("no memory for %d operations of the trace: take a smaller shape", lost);
    }
    return lost > 0;
}
