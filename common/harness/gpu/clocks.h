/* Tools for timing: the time and the mean SM clock between two points of a stream, and a gate
 * before them. There is one of each, and the stream is always the same. */
#pragma once

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues a gate: what is enqueued after it does not start before watch_result(), so the time
 * contains no host enqueueing time. Until then nothing that waits for the stream may be called, and
 * no kernel launched for the first time: CUDA loads it then, which may wait for the gate to end.
 * (CUDA C++ Programming Guide, Lazy Loading, Concurrent Execution.)
 *
 * It is a kernel that polls a flag in host memory. A CUDA graph would also do, but it would launch
 * the kernels in another way than a program does. An early launch (see dependent_launch.cuh) cannot
 * pass it, because it never issues launch_dependents. The end of the program opens it as well. */
void gate_close(struct CUstream_st *stream);

/* The points between which the time is taken. Before the first and after the second, and not in the
 * time, a small kernel reads the cycle counter and the clock time on every SM, of which there are
 * this many; 0: not wanted. That takes a few microseconds. */
void watch_start(int sms, struct CUstream_st *stream);
void watch_stop(int sms, struct CUstream_st *stream);

typedef struct watched {
    double seconds; /* between the points */
    double ghz;     /* the mean over the SMs that both readings caught; NAN if there is none */
} watched;

/* Opens the gate, if one is closed, and waits for the stream's work, which `what` names. Ends the
 * program if a gate opened by itself because its time limit of some seconds had passed. */
watched watch_result(struct CUstream_st *stream, const char *what);

#ifdef __cplusplus
}
#endif
