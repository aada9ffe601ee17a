/* The emulator as a device with host memory and one stream that is always idle; and the orders of
 * events that its policies make. */
#include "harness/machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/emulator.h"
#include "harness/arithmetic.h"
#include "harness/message.h"

/* Small, and yet every persistent CTA has more than one tile and more k-tiles than stages. */
enum { DEFAULT_M = 256, DEFAULT_N = 1024, DEFAULT_K_BYTES = 640 };

/* Several tiles each way, the last of them clipped. */
enum { DEFAULT_MOVED_M = 136, DEFAULT_MOVED_N = 236 };

static const char RANDOM[] = "random";

option_rules machine_option_rules(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    option_rules rules = {
        .has = HAS_POLICIES | (machine_traces() ? HAS_TRACE : 0) | (arithmetic.moves ? 0 : HAS_K) |
               (arithmetic.takes_c ? HAS_SCALARS : 0) | (step->kernels > 0 ? HAS_KERNELS : 0),
        .m = arithmetic.moves ? DEFAULT_MOVED_M : DEFAULT_M,
        .n = arithmetic.moves ? DEFAULT_MOVED_N : DEFAULT_N,
        .k = arithmetic.moves ? 0 : DEFAULT_K_BYTES / (int)number_bytes(arithmetic.operands),
        .kernels = step->kernels,
        .policies = emulator_policies()};
    shape_round_up(step, &rules.m, &rules.n, &rules.k);
    return rules;
}

void device_open(const step *step, int index, device *device) {
    memset(device, 0, sizeof *device);
    device_info *info = &device->info;
    info->emulated = true;
    info->compute_capability = step->max_compute_capability >= EVERY_LATER_CAPABILITY
                                   ? step->min_compute_capability
                                   : step->max_compute_capability;
    if (getenv("EMULATOR_CAPABILITY") != NULL) {
        struct cudaDeviceProp properties;
        cuda_check(cudaGetDeviceProperties(&properties, index), "asking for the properties");
        info->compute_capability = 10 * properties.major + properties.minor;
        info->shared_memory_bytes = properties.sharedMemPerBlockOptin;
    }
    info->power_limit_watts = NAN;
    info->memory_bytes_per_second = NAN;
    snprintf(info->name, sizeof info->name, "CPU emulator");
    emulator_report_prefix(step->name);
    cuda_check(cudaDeviceGetAttribute(&info->sms, cudaDevAttrMultiProcessorCount, index),
               "asking for the number of multiprocessors");
    if (info->shared_memory_bytes > 0) {
        device_check(step, info);
    }
}

size_t device_free_bytes(void) {
    char line[128];
    size_t kilobytes;
    size_t bytes = SIZE_MAX; /* unknown: too large an allocation will fail */
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1) {
            bytes = kilobytes * 1024;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

/* ---- one progress line over all launches */

static progress line;
static double all_launches;
static double launches_before;      /* the one that runs */
static double multiply_adds_of_one; /* 0 if it does not multiply */

/* A kernel with few, long-lived CTAs has done much of its work before the first of them ends. */
static void show(double grid_done, uint64_t multiply_adds) {
    const double multiplied =
        multiply_adds_of_one > 0 ? (double)multiply_adds / multiply_adds_of_one : 0;
    const double done = grid_done > multiplied ? grid_done : multiplied;
    progress_update(&line, (launches_before + done) / all_launches);
}

void device_wait(const device *device, const char *what) {
    progress_hide(&line); /* something else may be printed; the next launch shows it again */
    cuda_check(cudaStreamSynchronize(device->stream), "running %s", what);
}

/* ---- orders of events */

void machine_watch_output(const void *d, size_t bytes) { emulator_watch_output(d, bytes); }

/* Only --policy all has a name that is not a policy. */
static bool is_policy(const char *name) {
    for (const char *const *known = emulator_policies(); *known != NULL; ++known) {
        if (strcmp(name, *known) == 0) {
            return true;
        }
    }
    return false;
}

size_t machine_orders(const options *options) {
    const size_t all = emulator_fixed_policies() + (size_t)options->random_orders;
    return is_policy(options->policy) ? 1 : all - (size_t)options->first_order;
}

/* The exact check on other inputs, that on those of the options, and the launch that is traced. */
static size_t launches_in_all(const options *o) {
    const enum inputs exact = o->k == 0 ? INPUTS_BITS : INPUTS_INTEGERS;
    return (o->inputs != exact) + machine_orders(o) + machine_traces();
}

const char *machine_choose_order(const options *options, size_t order) {
    static char random_name[64];
    static const struct options *begun;
    const double multiply_adds = (double)options->m * (double)options->n * (double)options->k;
    if (begun != options || multiply_adds != multiply_adds_of_one) { /* another run */
        all_launches = (double)launches_in_all(options);
        launches_before = -1; /* the next one is number 0 */
        multiply_adds_of_one = multiply_adds;
        progress_begin(&line, "emulating");
        emulator_on_progress(show);
        begun = options;
    }
    ++launches_before;
    order += (size_t)options->first_order;
    const size_t fixed = emulator_fixed_policies();
    const bool is_random = order >= fixed; /* of all */
    const uint64_t seed = options->seed + (is_random ? order - fixed : 0);
    const char *name = is_policy(options->policy) ? options->policy
                       : is_random                ? RANDOM
                                                  : emulator_policies()[order];
    if (!emulator_choose_policy(name, seed)) {
        abort(); /* the emulator named it itself */
    }
    if (strcmp(name, RANDOM) != 0) {
        return name;
    }
    snprintf(random_name, sizeof random_name, "random with seed %" PRIu64, seed);
    return random_name;
}
