/* Keeps the GPU busy with one kernel for seconds, and watches the driver's energy counter. */
#pragma once

#include <stddef.h>

#include "harness/device.h"

enum { MOST_EDGES = 4096 };

/* The counter moves in steps, about every 100 ms. A step is recorded by the last reading before it
 * and the first one after it, in seconds from the first reading. */
typedef struct edges {
    size_t count;
    double before[MOST_EDGES];
    double after[MOST_EDGES];
    double joules[MOST_EDGES]; /* that the counter shows from then on, less what it showed first */
} edges;

typedef struct metered {
    edges edges;       /* all of them while the GPU did nothing else */
    size_t launches;   /* that were timed */
    double seconds;    /* of one launch; NAN if nothing was launched */
    double clock_ghz;  /* mean over the SMs that ran; while nothing runs, what the driver says */
    double celsius[2]; /* of the chip, first and last; NAN if unknown */
    double limited[CLOCK_LIMITS]; /* share of the time in which the driver held the clock down for
                                   * that reason, 0 to 1; NAN if unknown */
} metered;

/* What to launch. launch enqueues one launch; NULL: nothing runs. */
typedef struct metered_work {
    const char *name;
    void (*launch)(void *context, size_t number);
    void *context;
} metered_work;

/* Watts between the counter's first step and its last; NAN if there are not two. */
double edges_watts(const edges *edges);

/* Launches back to back: warm_up seconds, then `seconds` that count. Without an energy counter
 * there are no edges. */
void meter(const device *device, const metered_work *work, double warm_up, double seconds,
           metered *result);
