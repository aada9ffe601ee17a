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
        .has = HAS_POLICIES | (arithmetic.moves ? 0 : HAS_K) |
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

static const step *the_step;
static options made; /* the run that is made, with the seed of its policy */

/* ---- the smallest run with the same report, which tells its story (emulator/src/story.h) */

enum { MOST_SECONDS = 3, LONGEST_STORY = 1 << 13 };

static uint64_t told_report;
static double search_begun;
static char story[LONGEST_STORY]; /* of the smallest run so far */

/* This program's command line with other options. Prints nothing unless the report is the same. */
static const char AGAIN[] =
    "p=$(tr '\\0' ' ' </proc/%d/cmdline |"
    "sed -E 's/--(runs|json|policy|seed|inputs|kernel|size|[mnk]) [^ ]* //g')'%s --inputs %s "
    "--policy %s --seed %" PRIu64 "'\n"
    "EMULATOR_STORY=%" PRIu64
    " timeout %d $p 2>&1 >/dev/null | sed -n '/^  story, /,$p' | grep . &&\n"
    "echo \"  again: ${EMULATOR_CAPABILITY:+EMULATOR_CAPABILITY=$EMULATOR_CAPABILITY }$p\" |"
    "sed -E 's,build/emulated/(\\w*) (.*),make step N=\\1 EMULATE=1 ARGS=\"\\2\",'";

static bool shows(const options *o) {
    char shape[SHAPE_OPTIONS_SIZE], command[1024], said[LONGEST_STORY];
    if (monotonic_seconds() - search_begun > MOST_SECONDS) {
        return false;
    }
    options_of_shape(o, shape);
    snprintf(command, sizeof command, AGAIN, (int)getpid(), shape, inputs_name(o->inputs),
             o->policy, o->seed, told_report, MOST_SECONDS);
    FILE *run = popen(command, "r");
    said[run == NULL ? 0 : fread(said, 1, sizeof said - 1, run)] = '\0';
    if (run != NULL) {
        pclose(run);
    }
    return *said != '\0' && strcpy(story, said) != NULL;
}

/* To as few tiles as show it. */
static void shrink(const options *o, int *dimension, int tile, int clusters) {
    const int whole = *dimension, unit = tile * (clusters > 0 ? clusters : 1);
    for (*dimension = unit; unit > 0 && *dimension < whole && !shows(o); *dimension += unit) {
    }
    *dimension = unit > 0 && *dimension < whole ? *dimension : whole;
}

void emulator_on_unordered(uint64_t report) {
    const char *const *policy = emulator_policies();
    options o = made;
    const problem shape = {.m = o.m, .n = o.n, .k = o.k, .kernel = o.kernel};
    const bool chooses = the_step->tile_of != NULL;
    const step_tile tile =
        chooses ? the_step->tile_of(step_kernel(the_step, &shape)) : the_step->tile;
    told_report = report;
    search_begun = monotonic_seconds();
    for (o.policy = *policy; o.policy != NULL && !shows(&o); o.policy = *++policy) {
    }
    if (o.policy != NULL) {
        shrink(&o, &o.m, tile.m, tile.above);
        shrink(&o, &o.n, tile.n, tile.beside);
        shrink(&o, &o.k, tile.k, 1);
    }
    fputs(story, stderr);
}

void device_open(const step *step, int index, device *device) {
    device_info *info = &device->info;
    *device = (struct device){.info = {.emulated = true, .name = "CPU emulator"}};
    info->compute_capability = step->compute_capability;
    the_step = step;
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

/* All of the memory: how much of it others and the file cache would give up is not known. */
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
    char shape[SHAPE_OPTIONS_SIZE];
    emulator_choose_policy(name, seed);
    options_of_shape(options, shape); /* a report names the options that make its run again */
    emulator_report_options(shape);
    made = *options;
    made.seed = seed;
    multiply_adds_of_launch = (double)options->m * (double)options->n * (double)options->k;
    progress_begin(&line, "emulating");
    emulator_on_progress(show);
    snprintf(random_name, sizeof random_name, "%s with seed %" PRIu64, RANDOM, seed);
    return strcmp(name, RANDOM) == 0 ? random_name : name;
}
