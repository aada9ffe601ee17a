/* What a run says: the printed lines and the JSON file. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "emulator/emulator.h"
#include "harness/device.h"
#include "harness/json.h"
#include "harness/options.h"
#include "harness/timing.h"
#include "harness/trace.h"
#include "harness/verify.h"
#include "step.h"

/* What the emulator reports of one launch, instead of times. */
typedef struct emulation {
    const char *order; /* the name of the policy of the launch */
    emulator_counts counts;
    size_t sites;               /* lines of source that read or write shared memory */
    emulator_access_site *site; /* [sites], those with the most extra wavefronts first */
} emulation;

/* Prints the counts, and a table of the lines with bank conflicts. */
void emulation_print(FILE *out, const emulation *emulation);

/* Writes all of it as the object "emulator". */
void emulation_write_json(json *json, const emulation *emulation);

typedef struct report {
    const step *step;
    const options *options;
    const device_info *device;
    const char *trials; /* the shapes that a default run has tried before; NULL: none */
    size_t copies;
    size_t operand_bytes;     /* A, B, C and D of one copy */
    const char *const *names; /* [CONTENDERS] */
    unsigned refused;         /* contender_set: those that do not take the problem */
    const verification *verification;
    timing *timing;       /* NULL if nothing was timed */
    emulation *emulation; /* NULL on a GPU, or if something is wrong */
    trace *trace;         /* NULL unless the program traces, or if something is wrong */
} report;

/* Print the parts of the output, each as soon as it is known; the last one if something was timed.
 * */
void report_print_setup(FILE *out, const report *report);
void report_print_verification(FILE *out, const report *report);
void report_print_measured(FILE *out, const report *report);

/* Writes the object "gpu" of a result; null for the emulator. */
void report_write_gpu(json *json, const device_info *gpu);

/* Writes the whole result to the path, or ends the program. */
void report_write_json(const report *report, const char *path);
