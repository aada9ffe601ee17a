/* Whether a device can run a step, and what it says if not. */
#include "harness/device.h"

#include <stdio.h>

#include "harness/message.h"

void device_cannot_run(const step *step, const char *why) {
    const int capability = step->compute_capability;
    char memory[64] = "";
    if (step->min_shared_memory > 0) {
        snprintf(memory, sizeof memory, ", with %d KB of shared memory for a CTA,",
                 (step->min_shared_memory + 1023) / 1024);
    }
    end_with(STATUS_CANNOT_RUN,
             "cannot run here: it needs an NVIDIA GPU of compute capability %d.%d%s%s and its "
             "driver, but %s; run it on a machine that has one, or on the CPU with `make step N=%s "
             "EMULATE=1`",
             capability / 10, capability % 10, step->and_later ? " or later" : "", memory, why,
             step->name);
}

void step_cannot_run(const char *why) { end_with(STATUS_CANNOT_RUN, "cannot run here: %s", why); }

void device_check(const step *step, const device_info *info) {
    char why[384];
    const int above = info->compute_capability - step->compute_capability;
    if (step->and_later ? above < 0 : above != 0) {
        snprintf(why, sizeof why, "this is a %s of compute capability %d.%d", info->name,
                 info->compute_capability / 10, info->compute_capability % 10);
        device_cannot_run(step, why);
    }
    if (info->shared_memory_bytes < (size_t)step->min_shared_memory) {
        snprintf(why, sizeof why, "this is a %s, where a CTA can have %zu KB of it", info->name,
                 info->shared_memory_bytes / 1024);
        device_cannot_run(step, why);
    }
}
