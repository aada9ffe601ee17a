/* What a run says: the printed lines and its row, a line of JSON. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "emulator/emulator.h"
#include "harness/json.h"
#include "harness/timing.h"
#include "harness/verify.h"

/* What the emulator reports of one launch, instead of times. */
typedef struct emulation {
    const char *order; /* the name of the policy of the launch */
    emulator_counts counts;
    const char *proof;          /* whether the runs decide for all orders of events */
    size_t sites;               /* lines of source that read or write shared memory */
    emulator_access_site *site; /* [sites], those with the most extra wavefronts first */
} emulation;

/* Prints the counts, and a table of the lines with bank conflicts. */
void emulation_print(FILE *out, const emulation *emulation);

/* Writes all of it, into an object that the caller begins and ends. */
void emulation_write(json *json, const emulation *emulation);

typedef struct report {
    const workload *workload;
    const verification *verification;
    const trial *trial; /* [trials], what a default run has tried before */
    size_t trials;
    const timing *timing;       /* NULL if nothing was timed */
    const emulation *emulation; /* NULL on a GPU, or if something is wrong */
} report;

/* Prints if it is so. */
void print_if(FILE *out, bool is_so, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Print the parts of the output, each as soon as it is known; the last one if something was
 * measured. */
void report_print_setup(FILE *out, const report *report);
void report_print_verification(FILE *out, const report *report);
void report_print_measured(FILE *out, const report *report);

/* Writes the row of a right result to the path, or ends the program. */
void report_write(const report *report, const char *path);
