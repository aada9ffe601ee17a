/* A gate in a stream: what is enqueued after it does not start before the host opens it. So the
 * time between two later events contains no host enqueueing time.
 *
 * It is a kernel that polls a flag in host memory. A CUDA graph would also do, but it would launch
 * the kernels in another way than a program does. An early launch (see dependent_launch.cuh) cannot
 * pass the gate, because the polling kernel never issues launch_dependents. */
#ifndef GEMM_LADDER_HARNESS_GATE_H
#define GEMM_LADDER_HARNESS_GATE_H

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gate gate;

/* NULL after printing one line. */
gate *gate_create(void);
/* After the stream's work has ended. */
void gate_destroy(gate *gate);

/* Enqueues the gate, closed. Nothing that waits for the stream may be called before gate_open(),
 * and no kernel launched for the first time: CUDA loads it then, which may wait for the gate to
 * end. (CUDA C++ Programming Guide, Lazy Loading, Concurrent Execution.) Non-zero after printing
 * one line. */
int gate_close(gate *gate, struct CUstream_st *stream);
/* Opens it; nothing if no gate is closed. */
void gate_open(gate *gate);
/* After the stream's work has ended: non-zero, after printing one line, if a gate did not wait to
 * be opened, because its time limit of some seconds was over. */
int gate_expired(const gate *gate);

#ifdef __cplusplus
}
#endif

#endif
