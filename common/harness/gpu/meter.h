/* Keeps the GPU busy with one kernel for seconds, and watches the driver's energy counter. */
#pragma once

#include "harness/device.h"

typedef struct metered {
    double seconds;   /* of one launch */
    double clock_ghz; /* mean over the SMs that ran */
    double watts; /* between the energy counter's first step and its last; NAN if it has not made
                   * two, or there is none */
    double limited[CLOCK_LIMITS]; /* share of the time in which the driver held the clock down for
                                   * that reason, 0 to 1; NAN if unknown */
} metered;

/* What to launch, one at each call of launch, on the device's stream. */
typedef struct metered_work {
    const char *name;
    void (*launch)(void *context);
    void *context;
} metered_work;

/* Launches back to back: warm_up seconds, then `seconds` that count. */
metered meter(const device *device, const metered_work *work, double warm_up, double seconds);
