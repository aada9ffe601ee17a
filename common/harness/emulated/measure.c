/* What the emulator measures: counts. */
#include <stdlib.h>

#include "emulator/emulator.h"
#include "harness/exit_status.h"
#include "harness/machine.h"
#include "harness/message.h"

bool machine_traces(void) { return false; }

/* Launches once more, under the first policy, so that what is counted depends on it alone. */
static int count_a_launch(workload *workload, const options *o, emulation *emulation) {
    const contender *step = &workload->contenders[CONTENDER_STEP];
    emulation->order = machine_choose_order(o, 0);
    if (step->launch(step->context, 0) != 0 || device_wait(workload->device, step->name) != 0) {
        return 1;
    }
    emulation->detects_races = emulator_detects_races();
    emulator_get_counts(&emulation->counts);
    emulation->sites = emulator_get_access_sites(NULL, 0);
    emulation->site = calloc(emulation->sites + 1, sizeof *emulation->site);
    if (emulation->site == NULL) {
        message("no memory for the counts of %zu lines of source", emulation->sites);
        return 1;
    }
    emulator_get_access_sites(emulation->site, emulation->sites);
    return 0;
}

int machine_measure(workload *workload, const options *options, verification *verification,
                    report *report) {
    (void)verification; /* the launch that is counted writes nothing that is checked */
    emulation *emulation = calloc(1, sizeof *emulation);
    if (emulation == NULL) {
        message("no memory for the counts");
        return STATUS_FAILED;
    }
    report->emulation = emulation;
    return count_a_launch(workload, options, emulation) == 0 ? STATUS_VERIFIED : STATUS_FAILED;
}

void machine_forget(report *report) {
    if (report->emulation != NULL) {
        free(report->emulation->site);
        free(report->emulation);
        report->emulation = NULL;
    }
}
