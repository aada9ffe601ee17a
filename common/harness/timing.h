/* Times a step beside its rivals by one of three protocols that are never mixed:
 *
 * - burst: In a round each contender idles, does one warm-up launch and a few timed launches. All
 *   are enqueued before the first may start (gpu/clocks.h), so the time is the GPU's, not the
 *   host's. Every sample starts on a rested chip, and the short run shows the kernel's best speed.
 *   Long launches are timed four at a time. Short ones are repeated, equally often for all
 *   contenders, until the fastest takes half a millisecond: the microsecond between an event and
 *   the launch after it then hardly counts.
 * - sustained: In a round each contender has a short warm-up, then a second of back-to-back
 *   launches, with the energy that they took. Power limits the clock.
 * - call: In a round each contender idles, does one warm-up call and some timed calls, of which the
 *   median counts. A call begins on an idle stream and ends when the host, which polls the stream
 *   (cudaStreamSynchronize with cudaDeviceScheduleSpin), knows that the result is there: what the
 *   caller of one product waits for.
 *
 * Each round starts with another contender. Launches rotate over the copies of the operands. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/workload.h"

enum { BURST_LEAST_LAUNCHES = 4, BURST_MOST_LAUNCHES = 256, IDLE_MS = 50, CALLS_PER_ROUND = 21 };

/* One of the algorithms that cuBLASLt has for a product. */
typedef struct heuristic {
    int number; /* in cuBLASLt's order of preference; 0 is its own choice. Then come
                 * those that were enumerated */
    char algorithm[ALGORITHM_DIGITS + 1];
    char name[160]; /* of its kernels */
    double seconds; /* per launch, the fastest sample; NAN if it was not timed */
} heuristic;

typedef struct heuristics {
    int returned;     /* how many cuBLASLt has, of MOST_HEURISTICS requested */
    int enumerated;   /* configurations beside them that take the shape, if they were looked for */
    bool cut;         /* some were not timed, because of a Ctrl-C */
    int timed;        /* of all of these; 0 if none was */
    heuristic winner; /* what is timed beside the step */
} heuristics;

typedef struct ranked {
    double seconds; /* of its fastest launch; INFINITY: it was not launched yet */
    int number;
} ranked;

/* The search among the step's own kernels, and what the quick tuner (tune.h) did. */
typedef struct tuning {
    int count;            /* candidates that the search timed */
    ranked *times;        /* of each: its number from 1 on, and its fastest sample */
    int quick;            /* candidates of the quick tuner */
    double quick_seconds; /* that it took, but for ... */
    double ready_seconds; /* ... preparing them in each copy of the operands */
    const char *file;     /* that has its pick; NULL: none */
} tuning;

/* What was timed; the samples are the contenders'. */
typedef struct timing {
    size_t rounds;         /* finished */
    bool interrupted;      /* by Ctrl-C, before all rounds were done */
    size_t launches;       /* timed ones of a round, of each contender; 0 when sustained */
    bool gated;            /* all were enqueued before the first might start */
    heuristics heuristics; /* of CONTENDER_HEURISTIC; its caller's */
    tuning tuning;         /* of CONTENDER_TUNED and CONTENDER_BEST; its caller's too */
} timing;

/* Runs the protocol of the workload's options (not PROTOCOL_NONE). Ctrl-C ends it after the round;
 * a second one ends the program. At least one round is finished then. */
void timing_run(workload *workload, timing *timing);

/* ---- the arithmetic on times: no GPU needed */

/* Values that are not finite mean "not measured" and are left out; NAN if nothing is left. */
double median(const double *values, size_t count);

/* The median, and the 10 % and 90 % quantiles, with linear interpolation between neighbours. */
typedef struct summary {
    double median, low, high;
} summary;
summary summarize(const double *values, size_t count);

/* What the samples of one contender come to, over the finished rounds; NAN where nothing could be
 * measured. */
typedef struct timing_summary {
    double of[FIELDS]; /* medians */
    summary rate;      /* TFLOPS, or GB/s of what moves words */
    summary ratio;     /* of its seconds to the step's, round by round */
} timing_summary;
timing_summary timing_summarize(const workload *workload, const contender *contender,
                                size_t rounds);

/* ---- the fastest of thousands, when there is time for a launch or two of each */

/* Sorts those that have a time, the fastest first. Returns how many they are. */
int ranked_sort(ranked *all, int count);

/* Launches each of all[0 ... count - 1] once, then the faster half once more, and so on, until
 * `most` are left. One launch can be slow by chance, so the fastest of each counts; and the clock
 * may fall meanwhile, so every other time it goes backwards. launch returns the seconds of one
 * launch, which may be a number's first, or NAN for one that is out. Shows the progress. A Ctrl-C
 * ends it: those that were launched count. all[] has those that are left, the fastest first.
 * Returns how many they are. */
int rank_by_halving(ranked *all, int count, int most,
                    double (*launch)(void *context, int number, bool first), void *context);
