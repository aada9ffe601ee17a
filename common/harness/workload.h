/* The operands of a run: several copies of the same A and B, each with outputs of its own for the
 * step and for the second opinion, so that timed launches do not find their operands in the L2
 * cache. The emulator times nothing, and has one copy. */
#ifndef GEMM_LADDER_HARNESS_WORKLOAD_H
#define GEMM_LADDER_HARNESS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/buffers.h"
#include "harness/second_opinion.h"
#include "harness/device.h"
#include "harness/options.h"
#include "harness/reference.h"
#include "harness/timing.h"
#include "step.h"

typedef struct operand_copy {
    buffer a, b;
    buffer d[CONTENDERS];
    problem problem[CONTENDERS]; /* the same A and B, each with its own D */
    void *state;                 /* what the step's prepare made */
} operand_copy;

typedef struct workload {
    const step *step;
    const device *device;
    second_opinion *second_opinion;
    reference reference;
    size_t copies;
    operand_copy *copy;               /* [copies] */
    contender contenders[CONTENDERS]; /* launch(context, copy number) */
} workload;

/* Copies of operands of operand_bytes (A, B and D) that make more than twice the L2 cache: at
 * least 2, at most 256 and no more than fit. */
size_t workload_copies(size_t operand_bytes, size_t l2_bytes, size_t most_that_fit);

/* Allocates and prepares everything; the operands are not filled yet. Returns an enum exit_status;
 * unless it is STATUS_VERIFIED one line has been printed. workload_close() it in any case. */
int workload_open(workload *workload, const step *step, const device *device,
                  const options *options);
void workload_close(workload *workload);

/* Bytes of one A, one B and one D together. */
size_t workload_operand_bytes(const workload *workload);

/* The others return 0, or non-zero after printing one line. */

/* Makes the A and B of the first count copies. */
int workload_fill(workload *workload, size_t count, enum inputs inputs, int integer_range,
                  uint64_t seed);
/* Fills the outputs of all copies with NaN. */
int workload_poison(workload *workload);
/* text: which buffer was written beside, and where; empty if none was. */
int workload_guards_intact(const workload *workload, bool *intact, char *text, size_t size);

#endif
