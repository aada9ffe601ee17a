/* Times a step beside cuBLAS, or beside a plain copy, by one of three protocols that are never
 * mixed:
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

#include "harness/arithmetic.h"
#include "harness/device.h"
#include "harness/options.h"
#include "harness/timing.h"

enum { BURST_LEAST_LAUNCHES = 4, BURST_MOST_LAUNCHES = 256, IDLE_MS = 50, CALLS_PER_ROUND = 21 };

/* The median of a handful of measurements, and their spread. */
typedef struct summary {
    double median;
    double low;  /* the 10 % quantile */
    double high; /* the 90 % quantile */
} summary;

/* The q-quantile (0 to 1) with linear interpolation between neighbours. Values that are not finite
 * mean "not measured" and are left out; NAN if nothing is left. */
double quantile(const double *values, size_t count, double q);

/* The 0.5-quantile. */
double median(const double *values, size_t count);

/* The median and the spread. */
summary summarize(const double *values, size_t count);

/* The contenders that can be timed. launch enqueues one contender's computation on the given copy
 * of the operands. */
typedef struct contenders {
    contender_set set; /* the contenders that there are */
    const char *names[CONTENDERS];
    void (*launch)(const void *context, int who, size_t copy);
    const void *context;
} contenders;

/* One of the algorithms that cuBLASLt has for a product. */
typedef struct heuristic {
    int number; /* in cuBLASLt's order of preference; 0 is its own choice. Then come
                 * those that were enumerated */
    char algorithm[ALGORITHM_DIGITS + 1];
    char name[160]; /* of its kernels */
    double seconds; /* per launch, the median; NAN if it was not timed */
} heuristic;

typedef struct heuristics {
    int returned;   /* how many cuBLASLt has, of MOST_HEURISTICS requested */
    int enumerated; /* configurations beside them that take the shape; 0 if they were not looked
                     * for */
    bool cut;       /* some configurations were not enumerated, or not timed */
    int timed;      /* of all of these; 0 if none was */
    int finalists;  /* that were timed most often, and whose outputs were checked: the first ... */
    int count;      /* ... of the fastest ... */
    heuristic tried[MOST_HEURISTICS]; /* ... [count] */
    heuristic winner;                 /* what is timed beside the step */
} heuristics;

/* What one launch does; one of the two is 0. */
typedef struct work {
    double flop;        /* floating-point operations, of a product */
    double bytes;       /* read and written, of what moves words */
    bool on_cuda_cores; /* the step leaves the tensor cores idle */
    bool fp16_sums;     /* of the step */
    bool of_8_bits;     /* operands, which tensor cores multiply at twice the rate */
} work;

/* What is measured in each round; NAN where it could not be measured. */
enum measure {
    SECONDS,   /* per launch */
    CLOCK_GHZ, /* mean over the SMs during the timed launches */
    WATTS,     /* sustained only */
    JOULES,    /* per launch, sustained only */
    MEASURES
};

typedef struct contender_samples {
    double *of[MEASURES];         /* one entry per finished round in each */
    size_t launches;              /* all of them, warm-ups included */
    double limited[CLOCK_LIMITS]; /* sustained only: share of the time in which the driver held the
                                   * clock down for that reason, the sum over the rounds */
} contender_samples;

typedef struct timing {
    enum protocol protocol;
    size_t rounds;            /* finished */
    bool interrupted;         /* by Ctrl-C, before all rounds were done */
    work work;                /* of one launch */
    size_t launches;          /* timed ones of a round, of each contender; 0 when sustained */
    bool gated;               /* all were enqueued before the first might start */
    contender_set contenders; /* that were timed */
    contender_samples samples[CONTENDERS];
    heuristics heuristics; /* of CONTENDER_HEURISTIC; its caller's */
    double
        before_seconds[CONTENDERS]; /* what each did once, before its first launch; its caller's */
} timing;

/* Runs the protocol in options (not PROTOCOL_NONE). Ctrl-C ends it after the round; a second one
 * ends the program. *timing, of which at least one round is finished then, is zeros before, but for
 * what is its caller's. */
void timing_run(const device *device, const options *options, size_t copies, work work,
                const contenders *contenders, timing *timing);

/* What the samples of one contender come to. */
typedef struct timing_summary {
    double of[MEASURES]; /* medians */
    summary rate;        /* TFLOPS, or GB/s of what moves words */
    summary ratio;       /* of its seconds to the step's, round by round */
    double share;        /* of the tensor cores' cycles, or of the memory's peak rate, 0 to 1; NAN
                          * if the peak is unknown */
} timing_summary;

/* Dense bf16 or fp16 floating-point operations per cycle and SM, with sums of that width; NAN if it
 * is not known. */
double tensor_core_flop_per_cycle(const device_info *info, bool fp16_sums);

/* Whether this contender's sums are fp16. */
bool timing_fp16_sums(const timing *timing, int contender);

/* The same for the contender's operands and sums, of all SMs. */
double peak_flop_per_cycle(const timing *timing, int contender, const device_info *info);

/* Over the finished rounds of one contender; NAN where nothing could be measured. */
timing_summary timing_summarize(const timing *timing, int contender, const device_info *info);
