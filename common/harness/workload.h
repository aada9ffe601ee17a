/* What a run works on: the contenders, and several copies of the same A, B and C, each with outputs
 * of its own for every contender, so that timed launches do not find their operands in the L2
 * cache. The emulator times nothing, and has one copy. */
#pragma once

#include "harness/buffers.h"
#include "harness/check.h"
#include "harness/device.h"
#include "harness/options.h"

/* The checks in the order in which they are made: on inputs whose result is exact, on those that
 * are timed, and on what timed launches wrote. Where words are moved all three are exact. */
enum check_phase { PHASE_EXACT, PHASE_TIMED, PHASE_AFTER_TIMING, PHASES };

/* What is measured in each round; NAN where it could not be measured. */
enum measure {
    SECONDS,   /* per launch */
    CLOCK_GHZ, /* mean over the SMs during the timed launches */
    WATTS,     /* sustained only */
    JOULES,    /* per launch, sustained only */
    MEASURES,
    SHARE = MEASURES, /* what follows from these and the step: of the tensor cores' cycles, or of
                       * the memory's peak rate, 0 to 1; NAN if the peak is unknown */
    FIELDS
};

/* One that is run, checked and timed beside the others; and all that is found out about it. */
typedef struct contender {
    enum contender_role role;
    int kernel;              /* of one that was found by timing, its number from 1 on; else 0 */
    char key[24];            /* in a row: "cublas" */
    const char *label;       /* of its printed line: "cuBLAS" */
    char title[64];          /* in a sentence: "cuBLASLt's best" */
    second_opinion *opinion; /* NULL: it is the step */
    const void *context;     /* of launch */
    void (*launch)(const struct contender *contender, size_t copy); /* enqueues one launch */
    double before_seconds; /* what it took to get ready, once: the step's prepare of the first
                            * copy, or the start of its library and the search in it */
    verdict verdicts[PHASES];
    size_t launches;      /* in timing, warm-ups included */
    double *of[MEASURES]; /* [rounds] each; NULL: not timed */
} contender;

/* The operands; some computations have not all of them. */
enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_SCALE_A, OPERAND_SCALE_B, OPERANDS };

/* One contender's part of a copy of the operands. */
typedef struct share {
    buffer d;
    problem problem; /* the same A, B and C for all, each with its own D */
    void *state;     /* what the step's prepare made */
} share;

typedef struct workload {
    const step *step;
    const options *options;
    const device *device;
    arithmetic arithmetic; /* of the step */
    problem shape;         /* without operands */
    reference reference;
    operand operand[OPERANDS]; /* as they were filled last */
    size_t operand_bytes;      /* of one A, B, D and, if there is one, C together */
    size_t copies;
    void *(*memory)[OPERANDS]; /* [copies] of the operands; NULL where there is none */
    size_t shares;
    share *share;         /* [copies][contenders] */
    int contenders;       /* the step is the first */
    contender *contender; /* [contenders] */
    char without[160];    /* contenders that do not take the problem: "cuBLAS, the copy" */
} workload;

/* Copies of operands of operand_bytes (A, B, C and D) that make more than twice the L2 cache: at
 * least 2, at most 256 and no more than fit. */
size_t workload_copies(size_t operand_bytes, size_t l2_bytes, size_t most_that_fit);

/* Allocates and prepares everything; the operands are not filled yet. */
void workload_open(workload *workload, const step *step, const device *device,
                   const options *options);
void workload_close(workload *workload);

/* The contender of that role; NULL if there is none. */
contender *workload_find(const workload *workload, enum contender_role role);

/* Its part of a copy of the operands. */
share *workload_share(const workload *workload, const contender *contender, size_t copy);

/* Makes the contender, one that is the step, take this kernel, from 1 on, in `count` copies of the
 * operands, from the copy `first` on and round all of them. Its launches have ended. */
void workload_take(const workload *workload, contender *contender, int kernel, size_t first,
                   size_t count);

/* Makes the operands of the first count copies. With INPUTS_INTEGERS they are those given. Operands
 * that alpha or beta multiplies with 0 are NaN: BLAS specifies that they are not read. */
void workload_fill(workload *workload, size_t count, enum inputs inputs, const integers *integers);

/* Fills the outputs of all copies with NaN. */
void workload_poison(const workload *workload);

/* Checks the contender's output in a copy of the operands, as exact inputs permit or as any. */
verdict workload_check(const workload *workload, const contender *contender, size_t copy,
                       bool exact);

/* If not, text: the buffer that was written outside of its bounds, and where. */
bool workload_guards_intact(const workload *workload, char *text, size_t size);
