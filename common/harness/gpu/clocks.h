/* Tools for timing: the time between two points of a stream, a gate before them, and the mean SM
 * clock between two others. There is one of each, and the stream is always the same. */
#pragma once

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the time */

/* The points between which it is taken. */
void watch_start(struct CUstream_st *stream);
void watch_stop(struct CUstream_st *stream);
/* The seconds between the two; after the stream's work has ended. */
double watch_seconds(void);

/* ---- the gate: what is enqueued after it does not start before the host opens it. So the time
 * between two later points contains no host enqueueing time.
 *
 * It is a kernel that polls a flag in host memory. A CUDA graph would also do, but it would launch
 * the kernels in another way than a program does. An early launch (see dependent_launch.cuh) cannot
 * pass the gate, because the polling kernel never issues launch_dependents. */

/* Enqueues the gate, closed. Nothing that waits for the stream may be called before gate_open(),
 * and no kernel launched for the first time: CUDA loads it then, which may wait for the gate to
 * end. (CUDA C++ Programming Guide, Lazy Loading, Concurrent Execution.) */
void gate_close(struct CUstream_st *stream);
/* Opens it; does nothing if no gate is closed. The end of the program opens it as well. */
void gate_open(void);
/* After the stream's work has ended: ends the program if a gate opened by itself because its time
 * limit of some seconds had passed. */
void gate_check(void);

/* ---- the SM clock, without a profiler: a small kernel at each of two points reads the cycle
 * counter and the clock time on every SM */

enum clock_point { CLOCK_BEFORE, CLOCK_AFTER };

/* Forgets earlier readings. */
void clocks_clear(struct CUstream_st *stream);
/* Enqueues a reading on this many SMs; it takes a few microseconds of the stream's time. */
void clocks_read(int sms, enum clock_point point, struct CUstream_st *stream);
/* Waits for the stream. In GHz, the mean over the SMs that both readings caught; NAN if there is
 * none. */
double clocks_mean_ghz(struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
