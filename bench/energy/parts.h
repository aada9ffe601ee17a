/* The parts of a rung's kernel: the whole of it, and the same with some of its work left out. Each
 * runs alone for seconds, so that the driver's energy counter can measure it. */
#ifndef GEMM_LADDER_ENERGY_PARTS_H
#define GEMM_LADDER_ENERGY_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

enum part_kind {
    PART_RUNG,   /* the rung itself, through its contract */
    PART_KERNEL, /* our kernel, with switches */
    PART_ONE_SM, /* one SM is kept busy, the others have nothing to do */
    PART_IDLE    /* nothing is launched */
};

/* What one launch does, by the source: none of it is counted by the hardware. */
typedef struct part_counts {
    double flop;           /* of the tensor cores, also on the zeros beyond the edge of D */
    double operand_bytes;  /* that wgmma reads from shared memory */
    double loaded_bytes;   /* that TMA requests; where requests merge, fewer leave the L2. What
                            * lies outside of the matrices is not asked for */
    double stored_bytes;   /* of D */
    double exchanges;      /* k-tiles for which a CTA's producer and consumers synchronise */
    bool operands_in_dram; /* the operands are the whole matrices, which the L2 does not hold */
} part_counts;

struct variant; /* a kernel with its switches */
enum { PART_QUARTERS = 4 };

typedef struct part {
    const char *name;
    const char *what; /* in words */
    enum part_kind kind;
    int quarters; /* of the CTAs that the rung would have; the others are not launched */
    bool zeros;   /* the operands are zeros instead of normal numbers */
    bool stores;  /* D is the product afterwards; otherwise it is as it was before */
    bool paced;   /* takes the given time */
    const struct variant *variant; /* of a PART_KERNEL: the kernel */
} part;

/* All parts, in the order in which they run: what no budget needs comes last. The first is the rung
 * itself. */
extern const part parts[];
extern const size_t parts_count;

/* Makes what the launches need. p->m and p->n are multiples of 256, p->k is one of 64 and at least
 * 256. rung: of a PART_RUNG. pace: seconds of a launch, of what is paced. *state may be set also if
 * it fails: part_release() it. Returns 0, or 1 after printing one line. */
int part_prepare(const part *part, const step *rung, const problem *p, double pace, void **state);

/* Starts the kernel on p->stream and returns at once; not of a PART_IDLE. Returns 0, or 1 after
 * printing one line. */
int part_launch(const problem *p, void *state);

/* Frees the state, after the last launch has finished; NULL is nothing to free. */
void part_release(void *state);

/* What a launch of the prepared state does; nothing is known of a PART_RUNG. */
part_counts part_count(const problem *p, const void *state);

#ifdef __cplusplus
}
#endif

#endif
