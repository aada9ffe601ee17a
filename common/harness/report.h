/* What a run says: the printed lines and the JSON file. */
#ifndef GEMM_LADDER_HARNESS_REPORT_H
#define GEMM_LADDER_HARNESS_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "harness/device.h"
#include "harness/emulation.h"
#include "harness/json.h"
#include "harness/options.h"
#include "harness/timing.h"
#include "harness/trace.h"
#include "harness/verify.h"
#include "step.h"

typedef struct report {
    const step *step;
    const options *options;
    const device_info *device;
    const char *trials; /* the shapes that a default run has tried before; NULL: none */
    size_t copies;
    size_t operand_bytes;        /* A, B, C and D of one copy */
    const contender *contenders; /* [CONTENDERS], of which the names count */
    const verification *verification;
    timing *timing;       /* NULL if nothing was timed */
    emulation *emulation; /* NULL on a GPU, or if something is wrong */
    trace *trace;         /* NULL unless the program traces, or if something is wrong */
} report;

/* The parts of the output, each as soon as it is known; the last one if something was timed. */
void report_print_setup(FILE *out, const report *report);
void report_print_verification(FILE *out, const report *report);
void report_print_timing(FILE *out, const report *report);

/* Writes the object "gpu" of a result; null for the emulator. */
void report_write_gpu(json *json, const device_info *gpu);

/* Writes the whole result to the path. Returns 0, or non-zero with one sentence in error. */
int report_write_json(const report *report, const char *path, char *error, size_t size);

#endif
