/* The emulator as a device with host memory and one stream that is always idle; and the orders of
 * events that its policies make. */
#include "harness/machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/emulator.h"
#include "harness/arithmetic.h"
#include "harness/message.h"

/* Small, and yet every persistent CTA has more than one tile and more k-tiles than stages. */
enum { DEFAULT_M = 256, DEFAULT_N = 1024, DEFAULT_K_BYTES = 640 };

/* Several tiles each way, the last of them clipped. */
enum { DEFAULT_MOVED_M = 136, DEFAULT_MOVED_N = 236 };

option_rules machine_option_rules(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    option_rules rules = {
        .has = HAS_POLICIES | (machine_traces() ? HAS_TRACE : 0) | (arithmetic.moves ? 0 : HAS_K) |
               (arithmetic.takes_c ? HAS_SCALARS : 0) | (step->kernels > 0 ? HAS_KERNELS : 0) |
               (step->explain != NULL ? HAS_REASONS : 0),
        .m = arithmetic.moves ? DEFAULT_MOVED_M : DEFAULT_M,
        .n = arithmetic.moves ? DEFAULT_MOVED_N : DEFAULT_N,
        .k = arithmetic.moves ? 0 : DEFAULT_K_BYTES / (int)number_bytes(arithmetic.operands),
        .kernels = step->kernels,
        .policies = emulator_policies()};
    shape_round_up(step, &rules.m, &rules.n, &rules.k);
    return rules;
}

void device_open(const step *step, int index, device *device) {
    device_info *info = &device->info;
    *device = (struct device){.info = {.emulated = true, .name = "CPU emulator"}};
    info->compute_capability = step->max_compute_capability >= EVERY_LATER_CAPABILITY
                                   ? step->min_compute_capability
                                   : step->max_compute_capability;
    emulator_report_prefix(step->name);
    cuda_check(cudaDeviceGetAttribute(&info->sms, cudaDevAttrMultiProcessorCount, index),
               "asking for the number of multiprocessors");
    if (getenv("EMULATOR_CAPABILITY") != NULL) {
        struct cudaDeviceProp properties;
        cuda_check(cudaGetDeviceProperties(&properties, index), "asking for the properties");
        info->compute_capability = 10 * properties.major + properties.minor;
        info->shared_memory_bytes = properties.sharedMemPerBlockOptin;
        device_check(step, info);
    }
}

/* All of the memory: how much of it other programs and the file cache would give up is not known.
 */
size_t device_free_bytes(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

static progress line; /* of the launch that runs */
static double multiply_adds_of_launch;

/* A kernel with few, long-lived CTAs has done much of its work before the first of them ends. */
static void show(double grid_done, uint64_t multiply_adds) {
    progress_update(&line, fmax(grid_done, (double)multiply_adds / multiply_adds_of_launch));
}

void device_wait(const device *device, const char *what) {
    progress_hide(&line); /* something else may be printed */
    cuda_check(cudaStreamSynchronize(device->stream), "running %s", what);
}

void machine_watch_output(const void *d, size_t bytes) { emulator_watch_output(d, bytes); }

size_t machine_orders(const options *options) {
    const size_t all = emulator_fixed_policies() + (size_t)options->random_orders;
    return options->policy == NULL ? all - (size_t)options->first_order : 1;
}

/* A report names the options that make its run again. */
static void tell_options(const options *o) {
    char text[128], k[24] = "", kernel[24] = "";
    if (o->k > 0) {
        snprintf(k, sizeof k, " --k %d", o->k);
    }
    if (o->kernel > 0) {
        snprintf(kernel, sizeof kernel, " --kernel %d", o->kernel);
    }
    snprintf(text, sizeof text, "--m %d --n %d%s%s", o->m, o->n, k, kernel);
    emulator_report_options(text);
}

/* Of all, the random ones come last. */
const char *machine_choose_order(const options *options, size_t order) {
    static const char RANDOM[] = "random";
    static char random_name[64];
    const size_t number = order + (size_t)options->first_order;
    const size_t fixed = emulator_fixed_policies();
    const uint64_t seed = options->seed + (number > fixed ? number - fixed : 0);
    const char *name = options->policy != NULL ? options->policy
                       : number < fixed        ? emulator_policies()[number]
                                               : RANDOM;
    emulator_choose_policy(name, seed);
    tell_options(options);
    multiply_adds_of_launch = (double)options->m * (double)options->n * (double)options->k;
    progress_begin(&line, "emulating");
    emulator_on_progress(show);
    snprintf(random_name, sizeof random_name, "%s with seed %" PRIu64, RANDOM, seed);
    return strcmp(name, RANDOM) == 0 ? random_name : name;
}
