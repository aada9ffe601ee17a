/* Checks whether the step, and the second opinion beside it, compute the right result. */
#pragma once

#include "harness/workload.h"

/* The verdicts are the contenders'. */
typedef struct verification {
    bool timed_is_exact; /* the exact check's inputs are those that are timed: there is no other */
    bool made[PHASES];   /* with an alpha or beta that makes sums inexact there is no exact one */
    char orders[160];    /* of events that were tried: "eager, lazy"; empty on a GPU */
    const char *wrong_order; /* the one in which something was wrong; NULL if none, or on a GPU */
    bool digested;           /* an output of the step on the inputs that are timed was right */
    uint64_t digest;         /* of the first such output; all others must have the same digest */
    char unlike[160];        /* the one that has not, as one line; empty if all have */
    bool guards_intact;
    char guards_text[160]; /* what is wrong with them, if anything */
} verification;

/* True if every check that was made found all of them right, all launches of the step on the same
 * inputs gave the same bits, and the guards are intact. */
bool verification_right(const verification *verification, const workload *workload);

/* The exact check, and the one on the inputs of the options, which stay in the workload: the latter
 * in every order of events that the machine has, up to the first that makes it wrong. */
void verify_before_timing(workload *workload, verification *verification);

/* Launches one contender, on the inputs of the options; whether its output is right. */
bool verify_launch(const workload *workload, const contender *contender,
                   const verification *verification);

/* Checks every output that a timed launch wrote. The outputs were filled with NaN before. */
void verify_after_timing(const workload *workload, verification *verification);
