/* What the emulator tells of one launch, instead of times. */
#ifndef GEMM_LADDER_HARNESS_EMULATION_H
#define GEMM_LADDER_HARNESS_EMULATION_H

#include <stddef.h>
#include <stdio.h>

#include "emulator/emulator.h"
#include "harness/json.h"

typedef struct emulation {
    const char *order; /* the name of the policy of the launch */
    bool detects_races;
    emulator_counts counts;
    size_t sites;               /* lines of source that read or write shared memory */
    emulator_access_site *site; /* [sites], those with the most extra wavefronts first */
} emulation;

/* Prints the counts, and a table of the lines with bank conflicts. */
void emulation_print(FILE *out, const emulation *emulation);

/* Writes all of it as the object "emulator". */
void emulation_write_json(json *json, const emulation *emulation);

#endif
