/* What the emulator measures: counts. */
#include <stdlib.h>

#include "emulator/emulator.h"
#include "harness/machine.h"
#include "harness/message.h"

static emulation counted; /* of the last launch that was noted */

void machine_launched(const char *order) {
    counted.order = order;
    emulator_get_counts(&counted.counts);
    counted.sites = emulator_get_access_sites(NULL, 0);
    free(counted.site); /* of an earlier launch */
    counted.site = allocate(counted.sites, sizeof *counted.site);
    emulator_get_access_sites(counted.site, counted.sites);
}

void machine_measure(workload *workload, verification *verification, report *report) {
    (void)workload;
    (void)verification;
    counted.proof = emulator_proof();
    report->emulation = &counted;
}
