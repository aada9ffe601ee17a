/* The events that a traced kernel records, and where: shared by the kernel, which writes them, and
 * the harness, which provides the memory and reads it. C.
 *
 * One lane of a warp writes for it: lane 0. Every warp has its own memory, so that no warp waits
 * for another. Times are the low 32 bits of a clock (machine.cuh). */
#ifndef GEMM_LADDER_TRACE_EVENTS_H
#define GEMM_LADDER_TRACE_EVENTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happened. Addresses are shared addresses; NOWHERE means none. An event of no length has
 * the times before and after the instruction. */
enum trace_what {
    TRACE_LAYOUT,        /* a member of SharedStorage; value: its initial, address, other: bytes of
                          * one, extra: how many of them */
    TRACE_INIT,          /* an mbarrier; address, value: arrivals */
    TRACE_WAIT,          /* for an mbarrier; address, value: the parity, or TRACE_TOKEN */
    TRACE_ARRIVE,        /* at an mbarrier; address, value: the CTA's rank, or TRACE_OWN */
    TRACE_EXPECT,        /* an arrival that announces bytes; address, value: the bytes */
    TRACE_LOAD,          /* TMA load started; address: its mbarrier, other: the tile, value: mask */
    TRACE_MULTIPLY,      /* wgmmas started, fence to commit; address, other: A and B of the last;
                          * value: how many, or 0 if they are not counted */
    TRACE_MULTIPLY_WAIT, /* for groups of wgmmas; value: how many may remain */
    TRACE_STORE,         /* TMA store started; other: the tile */
    TRACE_STORE_COMMIT,  /* of a bulk group */
    TRACE_STORE_WAIT,    /* for bulk groups; value: how many may remain, extra: 1 until they have
                          * read, 0 until they are written */
    TRACE_COPY_COMMIT,   /* of a group of cp.async */
    TRACE_COPY_WAIT,     /* for groups of cp.async; value: how many may remain */
    TRACE_BARRIER,       /* of the CTA; value: its id */
    TRACE_CLUSTER,       /* the cluster's barrier */
    TRACE_WRITE, /* results on their way out, to staging or to global memory: done many times
                  * in a row, of which the last time is known */
    TRACE_WHATS
};
/* Values that mean none. A shared address is never NOWHERE. */
enum { TRACE_NOWHERE = 0, TRACE_TOKEN = 2, TRACE_OWN = 0xffff };

/* One event, 32 bytes: two stores. */
typedef struct __attribute__((aligned(16))) trace_event {
    uint32_t begin;
    uint32_t end;
    uint32_t what;
    uint32_t line; /* of the rung */
    uint32_t address;
    uint32_t other;
    uint32_t value;
    uint32_t extra;
} trace_event;

/* What is known of a warp besides its events. The first 32 bytes are read at every event. */
typedef struct __attribute__((aligned(32))) trace_warp {
    uint32_t events;   /* that happened; only the first trace_control.capacity are kept */
    uint32_t operands; /* of the last wgmma: A's address / 16, and B's shifted by 16 */
    uint32_t wrote;    /* when it wrote results last, since the last event; 0: it did not */
    uint32_t fence;    /* time of the last wgmma_fence */
    uint32_t wgmmas;   /* since the last commit, if they are counted */
} trace_warp;

/* What a launch is to record. All 0: nothing. */
typedef struct trace_control {
    trace_warp *warps;   /* [warps of the CTA], zeroed */
    trace_event *events; /* [warps of the CTA][capacity] */
    uint32_t capacity;
    uint32_t cta[3]; /* the blockIdx of the CTA that is traced */
} trace_control;

/* Implemented by the harness: what the next launch is to record. A traced rung calls it before each
 * of its launches, and passes the grid, in CTAs, and the CTA, in threads. */
trace_control trace_next_launch(const uint32_t grid[3], const uint32_t block[3]);

#ifdef __cplusplus
}
#endif

#endif
