/* The machine, GPU or emulator, that a rung's program is linked for. The files of gpu/ and of
 * emulated/ are two implementations of this header and of what device.h, reference.h and check.h
 * leave to a machine. */
#pragma once

#include "harness/report.h"

/* What the command line may request. */
option_rules machine_option_rules(const step *step);

/* In how many orders of events everything is checked. A GPU has one, its own. The emulator has one
 * for each requested policy. */
size_t machine_orders(const options *options);

/* The next launch of the step happens in this order. Returns its name; on a GPU NULL. */
const char *machine_choose_order(const options *options, size_t order);

/* The step was launched in this order. The emulator keeps what it has counted. */
void machine_launched(const char *order);

/* Each launch must write each element of D once: the emulator reports an element that is written
 * twice. */
void machine_watch_output(const void *d, size_t bytes);

enum { MOST_KERNELS = 64, MOST_TRIALS = 12 + MOST_KERNELS };

/* The trials of a step on the emulator, which has this many multiprocessors: a default run makes
 * them before its own shape, --trials lists them. Returns their number: 0 on a GPU. */
size_t machine_trials(const step *step, int sms, const options *options, trial trials[MOST_TRIALS]);

/* Measures a step whose result is right: times on a GPU, unless the options exclude them; counts on
 * the emulator. They go into the report, unless the verification has found a mistake by then, and
 * stay until the next call. */
void machine_measure(workload *workload, verification *verification, report *report);
