/* What the emulator measures: counts. */
#include <stdlib.h>

#include "emulator/emulator.h"
#include "harness/machine.h"
#include "harness/message.h"

bool machine_traces(void) { return false; }

/* Launches once more, under the first policy, so that what is counted depends on it alone; it
 * writes nothing that is checked. */
void machine_measure(workload *workload, const options *options, verification *verification,
                     report *report) {
    static emulation emulation;
    (void)verification;
    emulation.order = machine_choose_order(options, 0);
    workload_launch(workload, CONTENDER_STEP, 0);
    device_wait(workload->device, workload->step->name);
    emulator_get_counts(&emulation.counts);
    emulation.sites = emulator_get_access_sites(NULL, 0);
    free(emulation.site); /* of an earlier run */
    emulation.site = allocate(emulation.sites, sizeof *emulation.site);
    emulator_get_access_sites(emulation.site, emulation.sites);
    report->emulation = &emulation;
}
