/* Times a step beside cuBLAS, by one of two protocols that are never mixed:
 *
 * burst      A round is, for each of them: idle, one warm-up launch, a few timed launches. The
 *            chip starts every sample rested, and the short run tells the kernel's best. Four
 *            launches are enough where one takes long; of short ones, equally many of all of
 *            them, so many that the fastest takes half a millisecond: the microseconds between
 *            an event and the launch after it are not to count as the kernel's.
 * sustained  A round is, for each of them: a short warm-up, then seconds of back-to-back
 *            launches, with the energy they took. Power decides what is left of the clock.
 *
 * They swap places every round. Launches rotate over the copies of the operands. */
#ifndef GEMM_LADDER_HARNESS_TIMING_H
#define GEMM_LADDER_HARNESS_TIMING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/device.h"
#include "harness/options.h"
#include "harness/statistics.h"

enum { BURST_LEAST_LAUNCHES = 4, BURST_MOST_LAUNCHES = 256, BURST_IDLE_MS = 50 };

/* Somebody who can be timed. launch enqueues one product on the copy of that number. */
typedef struct contender {
    const char *name;
    int (*launch)(void *context, size_t copy);
    void *context;
} contender;

/* The other one is the second opinion: cuBLAS wherever something is timed. A step with fp16 sums
 * may have a third beside it, cuBLAS with fp16 sums; all others have two. */
enum { CONTENDER_STEP, CONTENDER_OTHER, CONTENDER_FP16_SUMS, CONTENDERS };

/* One entry per finished round in each array; NAN where a value could not be had. */
typedef struct contender_samples {
    double *seconds;   /* per launch */
    double *clock_ghz; /* mean over the SMs during the timed launches */
    double *watts;     /* sustained only */
    double *joules;    /* per launch, sustained only */
    size_t launches;   /* all of them, warm-ups included */
} contender_samples;

typedef struct timing {
    enum protocol protocol;
    size_t rounds;         /* finished */
    bool interrupted;      /* by Ctrl-C, before all rounds were done */
    double flop;           /* of one launch */
    size_t burst_launches; /* timed ones of a round, of each contender; 0 when sustained */
    int contenders;        /* that were timed: the first so many */
    contender_samples samples[CONTENDERS];
} timing;

/* Runs the protocol in options (not PROTOCOL_NONE) with the first `count` contenders. Ctrl-C ends
 * it after the round; a second one ends the program. Returns 0 with at least one finished round, or
 * non-zero after printing one line. timing_free() the result in either case. */
int timing_run(const device *device, const options *options, size_t copies, double flop,
               const contender contenders[CONTENDERS], int count, timing *timing);

/* Frees the arrays of samples. */
void timing_free(timing *timing);

/* What the samples of one contender come to. */
typedef struct timing_summary {
    double seconds; /* the median */
    summary tflops;
    double clock_ghz;         /* median */
    double tensor_core_share; /* of the tensor cores' cycles, 0 to 1; NAN if the peak is unknown */
    double watts;             /* median */
    double joules;            /* median, per launch */
} timing_summary;

/* Dense bf16 or fp16 floating-point operations per cycle and SM; NAN for a GPU that is not in the
 * table. */
double tensor_core_flop_per_cycle(int compute_capability);

/* Over the finished rounds of one contender; NAN where nothing could be measured. */
timing_summary timing_summarize(const timing *timing, int contender, const device_info *info);

/* The seconds of one contender (CONTENDER_OTHER: cuBLAS) over the step's, round by round, into
 * ratios[timing->rounds]. */
void timing_ratios(const timing *timing, int contender, double *ratios);

#endif
