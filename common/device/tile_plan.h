/* How a kernel is launched for a product, and a model of a few lines of the cycles that it takes.
 * Plain C, so that rungs, tests and bench/ run the same code. */
#ifndef GEMM_LADDER_TILE_PLAN_H
#define GEMM_LADDER_TILE_PLAN_H

#include "device/grouped_order.h"
#include "device/tile_kind.h"

#include <math.h>

enum {
    TILE_MOST_CLUSTER = 8, /* CTAs */
    TILE_LEAST_K_TILES = 4 /* of a part of a tile: fewer only fill the pipeline */
};

typedef struct tile_plan {
    int kernel; /* its number, from 0 on: of a rung's table of kernels, or of their forms */
    int parts;  /* of a tile along k; 1: it is whole */
    bool apart; /* the parts of a tile are in clusters of their own, else in one, which adds them */
    int tiles_m; /* tiles, or clusters' blocks of them, along wgmma's M side ... */
    int tiles_n; /* ... and its N side */
    int waves;
    int workers; /* CTAs, or clusters: the fewest that finish in these waves; 0: none fits */
    double cost; /* cycles, or what is like them */
} tile_plan;

/* The number of pieces that cover `length`. */
static inline int tile_pieces(int length, int piece) {
    return length / piece + (length % piece != 0);
}

/* Elements from a row of A and B to the next. TMA takes rows that are multiples of 16 bytes apart;
 * others are copied first, padded to whole k-tiles. */
static inline int tile_pitch(int k) { return k % 8 == 0 ? k : tile_pieces(k, TILE_K) * TILE_K; }

/* The parts of each tile: as many as shorten the longest one and fit on the GPU at once.
 * clusters[i] is how many clusters of i CTAs do. */
static inline int tile_parts(const tile_kind *kind, int tiles, int k_tiles, const int *clusters) {
    const int ctas = tile_ctas(kind);
    int best = 1;
    for (int parts = 2; kind->gathers && parts * ctas <= TILE_MOST_CLUSTER; ++parts)
        if (tiles <= clusters[parts * ctas] && k_tiles / parts >= TILE_LEAST_K_TILES &&
            tile_pieces(k_tiles, parts) < tile_pieces(k_tiles, best))
            best = parts;
    return best;
}

/* The parts of each tile that is divided among clusters: as many as fit on the GPU at once. */
static inline int tile_parts_apart(const tile_kind *kind, int tiles, int k_tiles,
                                   const int *clusters) {
    const int fit = clusters[tile_ctas(kind)] / tiles, long_enough = k_tiles / TILE_LEAST_K_TILES;
    const int most = fit < long_enough ? fit : long_enough;
    return kind->parts_apart && most > 1 ? most : 1;
}

/* The CTAs of a cluster. */
static inline int tile_cluster(const tile_kind *kind, const tile_plan *plan) {
    return tile_ctas(kind) * (plan->apart ? 1 : plan->parts);
}

/* What the clusters work on: tiles, or blocks of them, or parts of those. */
static inline int tile_jobs(const tile_plan *plan) {
    return plan->tiles_m * plan->tiles_n * (plan->apart ? plan->parts : 1);
}

/* The plan of a kernel in a form; tiles that can't have parts are whole. */
static inline tile_plan tile_plan_of(const tile_kind *kind, const problem *p, int form,
                                     const int *clusters) {
    const int rows = kind->swapped ? p->n : p->m;
    const int columns = kind->swapped ? p->m : p->n;
    tile_plan plan = {0, 1, false, 0, 0, 0, 0, HUGE_VAL};
    plan.tiles_m = tile_pieces(rows, kind->rows * kind->above);
    plan.tiles_n = tile_pieces(columns, kind->columns * kind->beside);
    const int tiles = plan.tiles_m * plan.tiles_n;
    const int k_tiles = tile_pieces(p->k, TILE_K);
    if (form == TILE_GATHERED)
        plan.parts = tile_parts(kind, tiles, k_tiles, clusters);
    if (form == TILE_APART)
        plan.parts = tile_parts_apart(kind, tiles, k_tiles, clusters);
    plan.apart = form == TILE_APART && plan.parts > 1;
    const int most = clusters[tile_cluster(kind, &plan)];
    if (most > 0) {
        plan.waves = tile_pieces(tile_jobs(&plan), most);
        plan.workers = balanced_workers(tile_jobs(&plan), most);
    }
    return plan;
}

/* Rows of tiles in a group, so that the tiles of a wave form about a square. */
static inline int tile_square_group(const tile_kind *kind, const tile_plan *plan) {
    return square_group(plan->workers, kind->columns * kind->beside, kind->rows * kind->above);
}

/* The cycles of a plan: waves of tiles, each as long as its multiplications or its loads, and its
 * end. In ping-pong a tile's end overlaps with the multiplication of the next one. Round numbers:
 * tile_model.h has the ones that are fitted to measurements. */
static inline double tile_cost(const tile_kind *kind, const tile_plan *plan, int k) {
    const double port_bytes = 90;      /* that an SM receives in a cycle */
    const double store_column = 8;     /* cycles for 64 accumulators of a column, to D */
    const double gather_column = 32;   /* for adding the parts of those */
    const double start_cluster = 1500; /* of a launch of clusters, more than of CTAs */
    const int turns = kind->ping_pong ? 2 : 1;
    const double k_tile = fmax(kind->rows * kind->columns / 32.0,
                               2.0 * (TILE_K * (kind->rows + kind->columns)) / port_bytes);
    const double multiply = tile_pieces(tile_pieces(k, TILE_K), plan->parts) * k_tile;
    const double columns = kind->rows / 64.0 * kind->columns * turns / kind->consumers;
    const double end =
        columns * (store_column / plan->parts + (plan->parts > 1 ? gather_column : 0));
    const double tile = turns > 1 ? fmax(multiply, (multiply + end) / 2) : multiply + end;
    return plan->waves * tile + (turns > 1 ? end : 0) +
           (plan->parts * tile_ctas(kind) > 1 ? start_cluster : 0);
}

#endif
