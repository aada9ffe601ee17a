#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"
#include "harness/message.h"
#include "harness/trace.h"

static void hear(const emulator_operation *told, void *context) {
    static const char *const names[] = {[EMULATOR_LOAD] = "load",
                                        [EMULATOR_MULTIPLY] = "multiply",
                                        [EMULATOR_STORE_READ] = "store read",
                                        [EMULATOR_STORE_WRITE] = "store write"};
    enum { MORE = 1024 };
    trace *trace = context;
    if (memcmp(told->cta, trace->cta, sizeof told->cta) != 0) {
        return;
    }
    if (trace->operations % MORE == 0) {
        const size_t room = trace->operations + MORE;
        trace->operation = realloc(trace->operation, room * sizeof *trace->operation);
        if (trace->operation == NULL) {
            end_with(STATUS_FAILED,
                     "no memory for %zu operations of the trace: take a smaller shape", room);
        }
    }
    trace->operation[trace->operations++] = (trace_operation){.kind = names[told->kind],
                                                              .is_own = told->is_own,
                                                              .warp = told->warp,
                                                              .started = told->started,
                                                              .happened = told->happened,
                                                              .tile = told->tile,
                                                              .barrier = told->barrier};
}

void trace_listen(trace *trace) {
    trace->time_unit = "emulated steps";
    emulator_listen(hear, trace);
}

void trace_listen_no_more(void) { emulator_listen(NULL, NULL); }
