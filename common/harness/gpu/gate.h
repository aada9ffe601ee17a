/* A gate in a stream: what is enqueued behind it does not start before the host opens it. So the
 * time between two events behind it has nothing of the host's enqueueing in it.
 *
 * It is a kernel that waits for a flag in the host's memory, and no CUDA graph: what stands behind
 * it is then launched as in any other program, with its own attributes. An early launch (see
 * dependent_launch.cuh) does not slip past, as the waiting kernel never says that the next one may
 * begin. */
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

/* Enqueues the gate, closed. Nothing that waits for the stream may be called before gate_open().
 * Non-zero after printing one line. */
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
