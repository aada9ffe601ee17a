/* Whether a device can run a step, and what it says if not. */
#include "harness/device.h"

#include <stdio.h>

#include "harness/message.h"

void device_cannot_run(const step *step, const char *why) {
    const int low = step->min_compute_capability;
    const int high = step->max_compute_capability;
    char upper[32] = "";
    char memory[64] = "";
    if (high >= EVERY_LATER_CAPABILITY) {
        snprintf(upper, sizeof upper, " or later");
    } else if (high > low) {
        snprintf(upper, sizeof upper, " to %d.%d", high / 10, high % 10);
    }
    if (step->min_shared_memory > 0) {
        snprintf(memory, sizeof memory, ", with %d KB of shared memory for a CTA,",
                 (step->min_shared_memory + 1023) / 1024);
    }
    end_with(STATUS_CANNOT_RUN,
             "cannot run here: it needs an NVIDIA GPU of compute capability %d.%d%s%s and its "
             "driver, but %s; run it on a machine that has one, or on the CPU with `make step N=%s "
             "EMULATE=1`",
             low / 10, low % 10, upper, memory, why, step->name);
}

void step_cannot_run(const char *why) { end_with(STATUS_CANNOT_RUN, "cannot run here: %s", why); }

void device_check(const step *step, const device_info *info) {
    char why[384];
    if (info->compute_capability < step->min_compute_capability ||
        info->compute_capability > step->max_compute_capability) {
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
