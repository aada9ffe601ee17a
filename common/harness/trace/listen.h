/* What a machine tells of a traced launch beside what the kernel writes down. The files of gpu/ and
 * of emulated/ are two implementations. */
#ifndef GEMM_LADDER_HARNESS_TRACE_LISTEN_H
#define GEMM_LADDER_HARNESS_TRACE_LISTEN_H

#include "harness/trace.h"

/* The unit of the times that the kernel writes down. */
const char *listen_time_unit(void);

/* From now on adds the operations of trace->cta to the trace; on a GPU nobody tells of them. */
void listen_begin(trace *trace);

/* No more. Non-zero, after printing one line, if there was no memory for all of them. */
int listen_end(void);

#endif
