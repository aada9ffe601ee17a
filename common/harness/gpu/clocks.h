/* The mean SM clock between two points of a stream, without a profiler: a small kernel at each of
 * them reads the cycle counter and the clock time on every SM. */
#ifndef GEMM_LADDER_HARNESS_CLOCKS_H
#define GEMM_LADDER_HARNESS_CLOCKS_H

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clocks clocks;

enum clock_point { CLOCK_BEFORE, CLOCK_AFTER };

/* NULL after printing one line. The others return 0, or non-zero after printing one line. */
clocks *clocks_open(int sms);
void clocks_close(clocks *clocks);

/* Forgets earlier readings. */
int clocks_clear(clocks *clocks, struct CUstream_st *stream);
/* Enqueues a reading; it takes a few microseconds of the stream's time. */
int clocks_read(clocks *clocks, enum clock_point point, struct CUstream_st *stream);
/* Waits for the stream. ghz: mean over the SMs that both readings caught; NAN if there is none. */
int clocks_mean_ghz(clocks *clocks, struct CUstream_st *stream, double *ghz);

#ifdef __cplusplus
}
#endif

#endif
