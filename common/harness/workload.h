/* The operands of a run: several copies of the same A, B and C, each with outputs of its own for
 * the step and for the second opinion, so that timed launches do not find their operands in the L2
 * cache. The emulator times nothing, and has one copy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/arithmetic.h"
#include "harness/buffers.h"
#include "harness/device.h"
#include "harness/options.h"
#include "harness/reference.h"
#include "harness/timing.h"
#include "step.h"

typedef struct operand_copy {
    buffer a, b, c;          /* B and C are empty if the computation has none */
    buffer scale_a, scale_b; /* the same */
    buffer d[CONTENDERS];
    problem problem[CONTENDERS]; /* the same A, B and C, each with its own D */
    void *state[CONTENDERS]; /* what the step's prepare made, for its usual and its early launch */
} operand_copy;

typedef struct workload {
    const step *step;
    const device *device;
    arithmetic arithmetic;                      /* of the step */
    second_opinion *second_opinion[CONTENDERS]; /* NULL for the step */
    reference reference;
    size_t copies;
    operand_copy *copy;    /* [copies] */
    contenders contenders; /* that there are */
    contender_set refused; /* that were wanted, but do not take the problem */
    char early_name[64];
    double before_seconds[CONTENDERS]; /* what each took to get ready, once: the step's prepare of
                                        * the first copy, or the start of its library */
} workload;

/* Copies of operands of operand_bytes (A, B, C and D) that make more than twice the L2 cache: at
 * least 2, at most 256 and no more than fit. */
size_t workload_copies(size_t operand_bytes, size_t l2_bytes, size_t most_that_fit);

/* Allocates and prepares everything; the operands are not filled yet. */
void workload_open(workload *workload, const step *step, const device *device,
                   const options *options);
void workload_close(workload *workload);

/* Bytes of one A, B, D and, if there is one, C together. */
size_t workload_operand_bytes(const workload *workload);

/* What the output of the contender in a copy of the operands must be: of a plain copy, A. The
 * result shares its memory with the workload. */
reference workload_reference(const workload *workload, int contender, size_t copy);

/* How a correct output of the contender may be rounded. */
rounding workload_rounding(const workload *workload, int contender);

/* Makes the operands of the first count copies. With INPUTS_INTEGERS they are those given. Operands
 * that alpha or beta multiplies with 0 are NaN: BLAS specifies that they are not read. */
void workload_fill(workload *workload, size_t count, const options *options, enum inputs inputs,
                   const integers *integers);
/* Fills the outputs of all copies with NaN. */
void workload_poison(const workload *workload);
/* One launch of a contender on a copy of the operands. */
void workload_launch(const void *workload, int contender, size_t copy);
/* text: the buffer that was written outside of its bounds, and where; empty if there is none. */
bool workload_guards_intact(const workload *workload, char *text, size_t size);
