#include <stdlib.h>
#include <string.h>

#include "harness/message.h"
#include "harness/trace.h"

static void hear(const emulator_operation *told, void *context) {
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
    trace->operation[trace->operations++] = *told;
}

void trace_listen(trace *trace) {
    emulator_listen(trace != NULL ? hear : NULL, trace);
    if (trace != NULL) {
        trace->time_unit = "emulated steps";
    }
}
