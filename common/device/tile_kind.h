/* What distinguishes one kernel of a family from another: its tile, and who computes it. Plain C,
 * so that a rung's host code, its step record and the model that chooses share it. */
#ifndef GEMM_LADDER_TILE_KIND_H
#define GEMM_LADDER_TILE_KIND_H

#include "step.h"

enum { TILE_K = 64 }; /* columns of A and B in a k-tile: 128 bytes of bf16 */

/* Of a kernel: its tiles are whole, or a cluster adds the parts of each, or each part has a cluster
 * of its own. */
enum { TILE_WHOLE, TILE_GATHERED, TILE_APART };

typedef struct tile_kind {
    int rows;         /* of a CTA's tile along wgmma's M side */
    int columns;      /* along wgmma's N side */
    int consumers;    /* warpgroups that multiply */
    bool by_columns;  /* consumers that share a tile have half of its columns each, else of its rows
                       */
    bool ping_pong;   /* each consumer has a tile of its own */
    int stages;       /* of the ring */
    int above;        /* CTAs of a cluster above one another: they share the columns' operand */
    int beside;       /* and side by side: they share the rows' operand */
    bool swapped;     /* wgmma's M side is D's n (rows of B), its N side D's m */
    bool gathers;     /* the ring has room for a tile's sums, so that a cluster can split k */
    bool parts_apart; /* a CTA has the registers to store a part's sums */
    int box_rows;     /* of the boxes in which TMA stores the tile */
    int box_columns;
} tile_kind;

/* A CTA's threads: a warpgroup that loads, and the consumers, of 128 threads each. */
static inline int tile_threads(const tile_kind *kind) { return 128 * (1 + kind->consumers); }

/* The CTAs that share loads. */
static inline int tile_ctas(const tile_kind *kind) { return kind->above * kind->beside; }

/* Rows of D that these CTAs compute together. */
static inline int tile_rows_d(const tile_kind *kind) {
    return kind->swapped ? kind->columns * kind->beside : kind->rows * kind->above;
}

/* Columns of D. */
static inline int tile_columns_d(const tile_kind *kind) {
    return kind->swapped ? kind->rows * kind->above : kind->columns * kind->beside;
}

/* What a rung's record says of a kernel. */
static inline step_tile tile_record(const tile_kind *kind, int form) {
    step_tile tile = {0};
    tile.above = kind->swapped ? kind->beside : kind->above;
    tile.beside = kind->swapped ? kind->above : kind->beside;
    tile.m = tile_rows_d(kind) / tile.above;
    tile.n = tile_columns_d(kind) / tile.beside;
    tile.k = TILE_K;
    tile.stages = kind->stages;
    tile.swaps = kind->swapped;
    tile.ping_pong = kind->ping_pong;
    tile.gathers = form != TILE_WHOLE;
    tile.apart = form == TILE_APART;
    return tile;
}

#endif
