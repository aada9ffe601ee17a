/* Checks whether the step, and the second opinion beside it, compute the right result. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "harness/arithmetic.h"
#include "harness/options.h"
#include "harness/timing.h"
#include "harness/check.h"
#include "harness/workload.h"

/* The checks in the order in which they are made: on inputs whose result is exact, on those that
 * are timed, and on what timed launches wrote. Where words are moved all three are exact. */
enum check_phase { PHASE_EXACT, PHASE_TIMED, PHASE_AFTER_TIMING, PHASES };

typedef struct verification {
    contender_set contenders; /* that are checked */
    integers integers;        /* the exact check's inputs */
    bool made[PHASES]; /* with the exact check's own inputs there is no second one, and with an
                        * alpha or beta that makes sums inexact no exact one */
    verdict verdicts[PHASES][CONTENDERS];
    char orders[160];        /* of events that were tried: "eager, lazy"; empty on a GPU */
    const char *wrong_order; /* the one in which something was wrong; NULL if none, or on a GPU */
    bool digested;           /* an output of the step on the inputs that are timed was right */
    uint64_t digest;         /* of the first such output; all others must have the same digest */
    char unlike[160];        /* the one that has not, as one line; empty if all have */
    bool guards_intact;
    char guards_text[160]; /* what is wrong with them, if anything */
} verification;

/* True if every check that was made found all of them right, all launches of the step on the same
 * inputs gave the same bits, and the guards are intact. */
bool verification_right(const verification *verification);

/* The exact check, and the one on the inputs of the options, which stay in the workload: the latter
 * in every order of events that the machine has, up to the first that makes it wrong. */
void verify_before_timing(workload *workload, const options *options, verification *verification);

/* Launches one contender, on the inputs of the options; whether its output is right. */
bool verify_launch(const workload *workload, const options *options, int who,
                   const verification *verification);

/* Checks every output that a timed launch wrote. The outputs were filled with NaN before. */
void verify_after_timing(const workload *workload, const options *options, const timing *timing,
                         verification *verification);
