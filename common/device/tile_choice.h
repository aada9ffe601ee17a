/* The choice of a tile: a model of the time that each kernel of a family takes for a product on the
 * GPU at hand. Plain C, so that rungs, the unit tests and bench/fit.py run the same code.
 *
 * Time is in cycles of the SMs' highest clock. A k-tile takes as long as the slowest of four: the
 * tensor cores, the producer, the loads through the SM's port, and those of all SMs from the L2. A
 * wave of tiles takes as long as the slower of the SMs and DRAM. Under load the clock falls: every
 * byte has a price in cycles. */
#ifndef GEMM_LADDER_TILE_CHOICE_H
#define GEMM_LADDER_TILE_CHOICE_H

#include "step.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    TILE_K = 64,           /* columns of A and B in a k-tile: 128 bytes of bf16 */
    TILE_MOST_CLUSTER = 8, /* CTAs */
    TILE_MOST_PARTS = 16,  /* of a tile, where a launch has no whole wave */
    TILE_LEAST_K_TILES = 4 /* of a worker's share of a last wave that is cut along k: fewer only
                              fill the pipeline */
};

/* How the consumers of a CTA share the work: there is one; each has half of the tile's rows, or of
 * its columns; or they ping-pong, a tile each. */
enum tile_consumers { ALONE, BY_ROWS, BY_COLUMNS, PING_PONG };

/* How a kernel computes a product: whole tiles; the tiles of the last wave cut along k, parts of
 * them summed in a workspace; or all tiles cut, each by the CTAs of a cluster of its own, which add
 * the parts in shared memory. */
enum tile_form { TILE_WHOLE, TILE_CUT, TILE_GATHERED };

/* The bytes that the sums of a tile of D take in shared memory, a row after another. Rows of sums
 * are as far apart as leaves a warp's writes without bank conflicts: it writes pairs of columns of
 * eight rows or, exchanged, eight columns of eight rows. */
#define TILE_SUMS_PITCH(columns, swapped)                                                          \
    (((columns) + 31 - ((swapped) ? 4 : 8)) / 32 * 32 + ((swapped) ? 4 : 8))
#define TILE_SUMS_BYTES(rows, columns, swapped) (4 * (rows)*TILE_SUMS_PITCH(columns, swapped))

/* A kernel of the family. */
typedef struct tile_kernel {
    int rows;        /* of a CTA's tile along wgmma's M side: 64, 128, 192, 256 */
    int columns;     /* along wgmma's N side: 8 to 256 */
    int consumers;   /* 1 or 2 warpgroups that multiply */
    int turns;       /* 1: the consumers share a tile; 2: ping-pong, a tile each */
    bool by_columns; /* consumers that share a tile split its columns, else its rows */
    int stages;      /* of the ring */
    int above;       /* tiles of a cluster above one another: they share the columns' operand */
    int beside;      /* and side by side: they share the rows' operand; 1 and 1: no cluster */
    bool swapped;    /* wgmma's M side is D's n (rows of B), its N side D's m */
} tile_kernel;

typedef struct tile_shape {
    int m;
    int n;
    int k;
} tile_shape;

/* What the model knows about a GPU; all of it is queried. */
typedef struct tile_gpu {
    int clusters[TILE_MOST_CLUSTER + 1]; /* [i]: of i CTAs that are resident at once */
    double hertz;                        /* the SMs' highest clock */
    double l2_bytes;                     /* the size of the L2 */
    double dram_bytes; /* DRAM's peak: bytes in a cycle of the SMs' highest clock */
} tile_gpu;

/* What it doesn't know: bench/fit.py fits these to the times of all kernels. Cycles are an SM's. */
typedef struct tile_constants {
    double start;        /* cycles of a launch until the first loads have landed */
    double least_k_tile; /* cycles of a k-tile at least: what its producer does */
    double latency;      /* cycles from a request to its bytes */
    double wgmma_rows;   /* cycles in which a wgmma reads its 64 rows from shared memory */
    double pair_start;   /* cycles more of a launch with pairs ... */
    double four_start;   /* ... with clusters of four ... */
    double eight_start;  /* ... and of eight */
    double pair;  /* of a cluster's loads: the part that the L2 is busy with, of two CTAs ... */
    double four;  /* ... of four ... */
    double eight; /* ... and of eight */
    double port_bytes;    /* that an SM receives in a cycle, if no other one does */
    double sector_row;    /* cycles more for a row of a k-tile if rows are a multiple of 32 bytes
                           * apart, but not of 128 ... */
    double ragged_row;    /* ... or of 16 bytes */
    double sector_bytes;  /* that the L2 delivers to all SMs in a cycle, if the operands' rows are a
                           * multiple of 32 bytes apart, an L2 sector (of 128: only the ports
                           * limit it) ... */
    double ragged_bytes;  /* ... of 16 bytes: a tile's row begins and ends within a sector */
    double apart_bytes;   /* ... at most, if CTAs that share rows are at different k-tiles */
    double outside_row;   /* cycles of a tile's row outside of the matrix, which TMA fills */
    double dram_share;    /* of DRAM's peak rate that is reached */
    double dram_write;    /* what a byte written to DRAM costs, in bytes read */
    double write_kept;    /* of the L2: a D of this size costs DRAM nothing during the launch */
    double l2_share;      /* of the L2 that keeps operands from one wave to the next */
    double end_start;     /* cycles of a tile's end at least */
    double end_column;    /* cycles for a column of 64 rows of accumulators, to staging memory */
    double end_line;      /* cycles for a store of a row's part of one 128-byte line of D */
    double end_alone;     /* how much of both is left if no other consumer stores as well */
    double end_ahead;     /* how much of the next tile's first loads a tile's end hides */
    double end_turns;     /* how much longer that takes beside the other consumer's wgmmas */
    double write_swapped; /* how much longer DRAM takes for D if it is exchanged: 128 bytes of a row
                           * at a time */
    double end_ragged;    /* how much longer if rows of boxes begin within an L2 sector */
    double end_plain;     /* how much longer by plain stores, where n is no multiple of 8 */
    double part_column;   /* cycles for a column of 64 rows of a part, to the workspace */
    double sum_column;    /* the same for reading and adding it */
    double sum_start;     /* cycles until the last part's CTA knows that it is the last */
    double gather_start;  /* cycles for a part until the cluster has seen that all are there */
    double gather_column; /* cycles for a column of 64 rows of a part, to shared memory and back */
    double copy_start;    /* cycles of the launch that copies operands to a workspace */
    double price_byte;    /* cycles that the clock loses for a byte that every SM receives */
    double blend;         /* exponent: how little two limits add if they are close: the tensor cores
                           * and the loads ... */
    double blend_dram;    /* ... the SMs and DRAM */
} tile_constants;

/* Fitted by bench/fit.py to H200s' times at 268 shapes of seeds up to 21: at 55 of all of today's
 * kernels, at the others of those that the family had then. The times are not kept. `latency` is a
 * guess: the times don't say what it is. */
static const tile_constants TILE_CONSTANTS = {
    .start = 5590,
    .least_k_tile = 50.4,
    .latency = 1200,
    .wgmma_rows = 21.69,
    .pair_start = 2717,
    .four_start = 2345,
    .eight_start = 907.6,
    .pair = 0.7967,
    .four = 0.6535,
    .eight = 0.698,
    .port_bytes = 91.18,
    .sector_row = 0.3953,
    .ragged_row = 0.6798,
    .sector_bytes = 8963,
    .ragged_bytes = 3524,
    .apart_bytes = 6240,
    .outside_row = 6.399,
    .dram_share = 1.003,
    .dram_write = 0.4853,
    .write_kept = 0.4093,
    .l2_share = 0.8248,
    .end_start = 461,
    .end_column = 6.581,
    .end_line = 2.668,
    .end_alone = 0.5407,
    .end_ahead = 0.2571,
    .end_turns = 2.017,
    .write_swapped = 2.163,
    .end_ragged = 1.611,
    .end_plain = 5.71,
    .part_column = 13.57,
    .sum_column = 11.19,
    .sum_start = 4873,
    .gather_start = 660.1,
    .gather_column = 32.08,
    .copy_start = 6007,
    .price_byte = 0.005217,
    .blend = 3.084,
    .blend_dram = 2.592,
};

/* What a plan costs: cycles, and where they go. The parts add up to `cycles`. */
typedef struct tile_cost {
    double cycles;
    double start;    /* the launch and the first loads */
    double multiply; /* the tensor cores at their peak rate */
    double loads;    /* that they wait for the L2 */
    double pitch;    /* that they wait longer since rows are no multiple of 128 bytes apart */
    double end;      /* the epilogue, as far as it isn't hidden */
    double idle;     /* the last wave, times the share of workers that have no tile in it */
    double cut;      /* parts of tiles, to the workspace or to shared memory and back */
    double copy;     /* operands, to the workspace */
    double dram;     /* that DRAM takes longer than the SMs */
    double clock;    /* that the clock loses under load */
} tile_cost;

/* A kernel, and how it is launched. */
typedef struct tile_plan {
    int number; /* of the kernel and its form, from 1 on */
    int kernel; /* its place in the table */
    int pitch;  /* elements from a row of A and B to the next; more than k: they are copied first */
    int tiles;  /* of D; of a kernel with clusters, a cluster's together */
    int workers;         /* CTAs, or clusters */
    int waves;           /* of whole tiles */
    enum tile_form form; /* cut: the tiles after these waves; each worker has an equal share */
    int parts;           /* of a tile, a CTA of its cluster each; 1 if it isn't gathered */
    tile_cost cost;
} tile_plan;

/* The CTAs of a kernel's cluster. */
static inline int tile_cluster(const tile_kernel *kernel) { return kernel->above * kernel->beside; }

/* CTAs, or clusters, that are resident at once. */
static inline int tile_most_workers(const tile_kernel *kernel, const tile_gpu *gpu) {
    return gpu->clusters[tile_cluster(kernel)];
}

/* One of four values, by the size of a kernel's cluster. */
static inline double tile_by_cluster(int cluster, double one, double two, double four,
                                     double eight) {
    return cluster == 1 ? one : cluster == 2 ? two : cluster <= 4 ? four : eight;
}

/* The number of pieces that cover `length`. */
static inline int tile_pieces(int length, int piece) {
    return length / piece + (length % piece != 0);
}

/* The rows of D that a tile covers, or a cluster's tiles. */
static inline int tile_step_m(const tile_kernel *kernel) {
    return kernel->swapped ? kernel->columns * kernel->beside : kernel->rows * kernel->above;
}

/* The columns of D that it covers. */
static inline int tile_step_n(const tile_kernel *kernel) {
    return kernel->swapped ? kernel->rows * kernel->above : kernel->columns * kernel->beside;
}

/* The height of the schedule's groups (grouped_tile), in tiles or clusters' tiles. In general the
 * tiles of a wave form about a square. If 16 rows of tiles fit in a wave, groups are lower: then
 * CTAs with neighbouring numbers request the same lines at about the same time. In trials on an
 * H200 that was faster, but slower where parts are gathered or tiles are few rows. */
static inline int tile_group(const tile_kernel *kernel, const tile_shape *shape,
                             const tile_plan *plan) {
    const int tiles_m =
        tile_pieces(kernel->swapped ? shape->n : shape->m, kernel->rows * kernel->above);
    const int tiles_n =
        tile_pieces(kernel->swapped ? shape->m : shape->n, kernel->columns * kernel->beside);
    const double square = sqrt((double)plan->workers * kernel->columns * kernel->beside /
                               (kernel->rows * kernel->above));
    const bool merges = tile_cluster(kernel) == 1 && plan->form != TILE_GATHERED && tiles_m >= 8;
    if (merges && tiles_n < 4)
        return 1;
    if (merges && (tiles_m < 16 ? tiles_m : 16) * tiles_n <= plan->workers)
        return 4;
    return square >= 4 ? (int)square / 4 * 4 : 1;
}

/* The pitch of operands that are copied to a workspace: whole 128 bytes. */
static inline int tile_copied_pitch(int k) { return tile_pieces(k, TILE_K) * TILE_K; }

/* The time of two things that happen at once: the longer, and more if they are about equal. */
static inline double tile_blend(double a, double b, double exponent) {
    const double longer = fmax(a, b);
    return longer * pow(1 + pow(fmin(a, b) / longer, exponent), 1 / exponent);
}

/* The tensor cores' cycles for a k-tile. A wgmma multiplies 64 rows by 16 of k; it takes as long as
 * its multiplications, or as its reads of shared memory. */
static inline double tile_multiply(const tile_kernel *kernel, const tile_constants *c) {
    const int splits = kernel->by_columns ? kernel->consumers / kernel->turns : 1;
    const double columns = (double)kernel->columns / splits;
    const int wgmmas = TILE_K / 16 * (kernel->rows / 64) * splits;
    return wgmmas * fmax(columns / 2, c->wgmma_rows + columns / 4);
}

/* The rows of the box that a CTA loads of an operand for a k-tile: a tile's rows, or its part of
 * those that `ctas` CTAs share. Of a matrix of fewer rows it has no more. */
static inline double tile_box_rows(int tile, int ctas, int matrix) {
    return fmin((double)tile / ctas, matrix);
}

/* How many of its rows are outside of the matrix, if that has fewer rows than a tile. Boxes wholly
 * outside are none: the rungs load others in their place. */
static inline int tile_outside(int tile, int ctas, int matrix) {
    const int box = tile / ctas;
    return matrix < tile && matrix % box > 0 ? box - matrix % box : 0;
}

/* The cycles of a k-tile while `ctas` CTAs work: with `apart`, on parts of tiles. */
static inline double tile_k_tile(const tile_kernel *kernel, const tile_shape *shape,
                                 const tile_constants *c, int pitch, double ctas, bool apart) {
    const int m = kernel->swapped ? shape->n : shape->m;
    const int n = kernel->swapped ? shape->m : shape->n;
    const double box_rows = tile_box_rows(kernel->rows, kernel->beside, m) +
                            tile_box_rows(kernel->columns, kernel->above, n);
    const int outside = tile_outside(kernel->rows, kernel->beside, m) +
                        tile_outside(kernel->columns, kernel->above, n);
    const double delivered = pitch % 64 == 0   ? HUGE_VAL
                             : pitch % 16 == 0 ? c->sector_bytes
                                               : c->ragged_bytes;
    const double most = apart ? fmin(delivered, c->apart_bytes) : delivered;
    const double own = box_rows * (2 * TILE_K);
    const double row = pitch % 64 == 0 ? 0 : pitch % 16 == 0 ? c->sector_row : c->ragged_row;
    /* What other CTAs of the cluster load for this one comes through its port as well. */
    const double received = (fmin(kernel->rows, m) + fmin(kernel->columns, n)) * (2 * TILE_K);
    const double port = received / c->port_bytes + box_rows * row + outside * c->outside_row;
    const double loads =
        own * ctas / most * tile_by_cluster(tile_cluster(kernel), 1, c->pair, c->four, c->eight);
    const double waits = fmax(c->least_k_tile, c->latency / (kernel->stages - 1));
    return tile_blend(fmax(tile_multiply(kernel, c), fmax(waits, port)), loads, c->blend);
}

/* The columns of the boxes in which TMA stores a tile (tile_store.cuh). */
static inline int tile_box(const tile_kernel *kernel) {
    const int sharing = kernel->consumers / kernel->turns;
    const int columns = kernel->columns / (kernel->by_columns ? sharing : 1);
    for (int box = 64; box >= 16; box /= 2)
        if (kernel->swapped || columns % box == 0)
            return box;
    return columns;
}

/* Whether all rows of all boxes begin at an L2 sector, 32 bytes. */
static inline bool tile_whole_sectors(const tile_kernel *kernel, int n) {
    return n % 16 == 0 && tile_box(kernel) % 16 == 0;
}

/* The lines of D, 128 bytes each, that a store of 64 rows of accumulators touches for a column of
 * them. TMA stores a box row by row; a row that begins anywhere in a line touches one more. */
static inline double tile_end_lines(const tile_kernel *kernel, int n) {
    const int line = 64;
    const int box = tile_box(kernel);
    const int begins = n % line == 0 && box % line == 0 ? line
                       : n % 32 == 0 && box % 32 == 0   ? 32
                       : tile_whole_sectors(kernel, n)  ? 16
                                                        : 8; /* at a multiple of these columns */
    return 64.0 / box * (1 + (box - begins) / (double)line);
}

/* The bytes that DRAM moves. Each matrix is moved once; an operand again for a later wave, as far
 * as the L2 has lost it. The tiles of a wave form about a square. Waves follow each other along n
 * and read the same rows of A; the next row of waves reads all of B again. What the L2 can keep of
 * D is written there alone. */
static inline double tile_dram_bytes(const tile_kernel *kernel, const tile_shape *shape,
                                     const tile_gpu *gpu, const tile_constants *c) {
    const double row = 2.0 * shape->k;
    const double side = sqrt((double)gpu->clusters[1] * kernel->rows * kernel->columns);
    const double kept = c->l2_share * gpu->l2_bytes;
    const double lost_a = 1 - fmin(1, kept / (2 * side * row));
    const double lost_b = 1 - fmin(1, kept / ((shape->n + side) * row));
    const double again_a = fmax(0, shape->n / side - 1) * lost_a;
    const double again_b = fmax(0, shape->m / side - 1) * lost_b;
    const double written = fmax(0, 2.0 * shape->m * shape->n - c->write_kept * gpu->l2_bytes);
    return (shape->m * (1 + again_a) + shape->n * (1 + again_b)) * row +
           c->dram_write * (kernel->swapped ? c->write_swapped : 1) * written;
}

/* What the waves of a plan have in common. */
typedef struct tile_waves {
    const tile_kernel *kernel;
    const tile_shape *shape;
    const tile_gpu *gpu;
    const tile_constants *c;
    const tile_plan *plan;
    double dram; /* DRAM's cycles for a k-tile of one worker */
    bool apart;  /* the waves are of parts */
} tile_waves;

/* Adds `count` waves in which `busy` workers have `k_tiles` k-tiles of a tile each, and write what
 * they have in `after` cycles: to `written`, a part of the cost. More waves may follow. */
static inline void tile_add_waves(tile_cost *cost, double *written, const tile_waves *waves,
                                  int count, double busy, int k_tiles, double after, bool follow) {
    const tile_kernel *kernel = waves->kernel;
    const tile_constants *c = waves->c;
    const double ctas = busy * tile_cluster(kernel);
    const double used = count * busy / waves->plan->workers;
    const double peak = k_tiles * tile_multiply(kernel, c);
    const double aligned =
        k_tiles * tile_k_tile(kernel, waves->shape, c, TILE_K, ctas, waves->apart);
    const double all = waves->plan->pitch % TILE_K == 0
                           ? aligned
                           : k_tiles * tile_k_tile(kernel, waves->shape, c, waves->plan->pitch,
                                                   ctas, waves->apart);
    /* While a tile ends, the ring is filled for the next one. In ping-pong the end of a tile
     * overlaps with the multiplication of the next one, as far as that lasts, and takes longer. */
    const double first = fmin(1, (double)kernel->stages / k_tiles) * all;
    const double ahead = follow ? c->end_ahead * fmin(after, first) : 0;
    const double tile =
        kernel->turns == 1 ? all + after - ahead : fmax(all, (all + after * c->end_turns) / 2);
    const double bytes = 2.0 * k_tiles * (TILE_K * (kernel->rows + kernel->columns));
    const double clock = c->price_byte * bytes * ctas / waves->gpu->clusters[1];
    const double dram = waves->dram * busy * k_tiles;
    cost->multiply += used * peak;
    cost->loads += used * (aligned - peak);
    cost->pitch += used * (all - aligned);
    *written += used * (tile - all);
    cost->idle += (count - used) * tile;
    cost->clock += count * clock;
    cost->dram += count * (tile_blend(tile + clock, dram, c->blend_dram) - tile - clock);
}

/* The number of workers, of `most` at most, that share the k-tiles of the last `tiles` tiles; 0:
 * too few k-tiles or workers for that. After whole waves it is all of them. Otherwise each tile has
 * the same number of them, two or more: the number that needs the fewest cycles. Shares that don't
 * fit tiles were slower than whole tiles there. */
static inline int tile_sharers(int tiles, int most, bool after_waves, int k_tiles, double k_tile,
                               double sum) {
    const long long total = (long long)tiles * k_tiles;
    int best = 0;
    double least = HUGE_VAL;
    if (after_waves)
        return total / most >= TILE_LEAST_K_TILES ? most : 0;
    for (int parts = 2; parts * tiles <= most && parts <= TILE_MOST_PARTS; ++parts) {
        const double cycles = tile_pieces(k_tiles, parts) * k_tile + parts * sum;
        if (k_tiles / parts >= TILE_LEAST_K_TILES && cycles < least) {
            least = cycles;
            best = parts * tiles;
        }
    }
    return best;
}

/* The rows of D and the columns that a tile has. */
static inline int tile_d_rows(const tile_kernel *kernel) {
    return kernel->swapped ? kernel->columns : kernel->rows;
}
static inline int tile_d_columns(const tile_kernel *kernel) {
    return kernel->swapped ? kernel->rows : kernel->columns;
}

/* What a rung's record says of a kernel in this form. */
static inline step_tile tile_of_record(const tile_kernel *kernel, enum tile_form form) {
    const bool swapped = kernel->swapped;
    step_tile tile = {0};
    tile.m = tile_d_rows(kernel);
    tile.n = tile_d_columns(kernel);
    tile.k = TILE_K;
    tile.stages = kernel->stages;
    tile.above = swapped ? kernel->beside : kernel->above;
    tile.beside = swapped ? kernel->above : kernel->beside;
    tile.swaps = swapped;
    tile.ping_pong = kernel->turns > 1;
    tile.cuts = form == TILE_CUT;
    tile.gathers = form == TILE_GATHERED;
    return tile;
}

/* The number of CTAs that share the k-tiles of each tile and add their sums in shared memory, where
 * a tile's sums take the place of the ring; 1: they can't, or there are too many tiles. */
static inline int tile_gathered_parts(const tile_kernel *kernel, const tile_gpu *gpu, int tiles,
                                      int k_tiles) {
    const int sums = TILE_SUMS_BYTES(tile_d_rows(kernel), tile_d_columns(kernel), kernel->swapped);
    const int ring = kernel->stages * (kernel->rows + kernel->columns) * 2 * TILE_K;
    const int ctas = tile_cluster(kernel);
    int best = 1;
    if (kernel->turns > 1 || sums > ring)
        return 1;
    for (int parts = 2; parts * ctas <= TILE_MOST_CLUSTER; ++parts)
        if (tiles <= gpu->clusters[parts * ctas] && k_tiles / parts >= TILE_LEAST_K_TILES &&
            tile_pieces(k_tiles, parts) < tile_pieces(k_tiles, best))
            best = parts;
    return best;
}

/* Makes the plan for a kernel: plan->kernel and plan->pitch are given, and the form that is wanted.
 * plan->form is another one if tiles can't be cut: there are none in a last wave, or too many, or k
 * is short. */
static inline void tile_make_plan(tile_plan *plan, const tile_kernel *kernel,
                                  const tile_shape *shape, const tile_gpu *gpu,
                                  const tile_constants *c, enum tile_form form) {
    const tile_cost nothing = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const int most = tile_most_workers(kernel, gpu);
    const int k_tiles = tile_pieces(shape->k, TILE_K);
    const int tiles =
        tile_pieces(shape->m, tile_step_m(kernel)) * tile_pieces(shape->n, tile_step_n(kernel));
    const int last = tiles % most;
    const int sharing = kernel->consumers / kernel->turns; /* consumers of a tile */
    /* Of a consumer's accumulators, 64 rows each. */
    const double columns = (double)kernel->columns * (kernel->rows / 64) / sharing;
    const double end =
        c->end_start + columns * (c->end_column + c->end_line * tile_end_lines(kernel, shape->n)) *
                           (sharing == 1 ? c->end_alone : 1) *
                           (shape->n % 8 > 0                       ? c->end_plain
                            : tile_whole_sectors(kernel, shape->n) ? 1
                                                                   : c->end_ragged);
    const double dram_rate = c->dram_share * gpu->dram_bytes;
    const double dram = tile_dram_bytes(kernel, shape, gpu, c) / dram_rate / tiles / k_tiles;
    tile_waves waves = {kernel, shape, gpu, c, plan, dram, false};
    tile_cost *cost = &plan->cost;

    *cost = nothing;
    plan->tiles = tiles;
    plan->form = TILE_WHOLE;
    plan->parts = 1;
    int sharers = 0;
    if (form == TILE_CUT && last > 0)
        sharers = tile_sharers(last, most, tiles > most, k_tiles,
                               tile_k_tile(kernel, shape, c, plan->pitch, gpu->clusters[1], true),
                               columns * c->sum_column);
    if (form == TILE_GATHERED)
        plan->parts = tile_gathered_parts(kernel, gpu, tiles, k_tiles);
    if (plan->parts > 1) {
        plan->form = TILE_GATHERED;
        waves.apart = true;
        plan->waves = 0;
        plan->workers = tiles * plan->parts;
        tile_add_waves(cost, &cost->cut, &waves, 1, plan->workers,
                       tile_pieces(k_tiles, plan->parts), columns * c->gather_column, false);
        cost->cut += c->gather_start * plan->parts;
        cost->end += end / plan->parts;
    } else if (sharers == 0) {
        plan->waves = tile_pieces(tiles, most);
        plan->workers = tile_pieces(tiles, plan->waves); /* the fewest for this number of waves */
        tile_add_waves(cost, &cost->end, &waves, plan->waves - 1, plan->workers, k_tiles, end,
                       true);
        tile_add_waves(cost, &cost->end, &waves, 1, tiles - (plan->waves - 1) * plan->workers,
                       k_tiles, end, false);
        cost->end += kernel->turns == 1 ? 0 : end; /* nothing hides the last one */
    } else {
        /* Where shares don't fit tiles, a worker's share begins in one tile and ends in the next.
         */
        const bool fit = sharers % last == 0;
        const int share = (int)(((long long)last * k_tiles + sharers - 1) / sharers);
        const int parts = sharers / last + (fit ? 0 : 2); /* of a tile, at most */
        plan->form = TILE_CUT;
        plan->waves = tiles / most;
        plan->workers = sharers;
        tile_add_waves(cost, &cost->end, &waves, plan->waves, most, k_tiles, end, true);
        /* These are at different k-tiles at any time, and share nothing that the L2 loses. */
        const double lost =
            1 - fmin(1, c->l2_share * gpu->l2_bytes / (2.0 * (shape->m + shape->n) * shape->k));
        const double boxes =
            (double)kernel->rows / kernel->beside + kernel->columns / kernel->above;
        const double alone = lost * tile_cluster(kernel) * boxes * (2 * TILE_K);
        const tile_waves last_wave = {
            kernel, shape, gpu, c, plan, fit ? dram : fmax(dram, alone / dram_rate), true};
        tile_add_waves(cost, &cost->cut, &last_wave, 1, sharers, share,
                       (fit ? 1 : 2) * columns * c->part_column, false);
        cost->cut += c->sum_start + parts * columns * c->sum_column;
        cost->end += end;
    }
    cost->start = c->start + tile_by_cluster(tile_cluster(kernel) * plan->parts, 0, c->pair_start,
                                             c->four_start, c->eight_start);
    if (plan->pitch != shape->k) /* read and written: 4 bytes an element */
        cost->copy = c->copy_start + 4 * ((double)shape->m + shape->n) * shape->k / dram_rate;
    cost->cycles = cost->start + cost->multiply + cost->loads + cost->pitch + cost->end +
                   cost->idle + cost->cut + cost->copy + cost->dram + cost->clock;
}

/* Puts the plan among the `found` best so far, of at most `wanted`, in their order. Returns how
 * many there are then. */
static inline int tile_rank(tile_plan *plans, int found, int wanted, const tile_plan *plan) {
    int place = found;
    for (; place > 0 && plan->cost.cycles < plans[place - 1].cost.cycles; --place)
        if (place < wanted)
            plans[place] = plans[place - 1];
    if (place < wanted)
        plans[place] = *plan;
    return found < wanted ? found + 1 : found;
}

/* Stores the `wanted` best plans over a table of kernels, the best first, and returns how many
 * there are. A kernel has a number for each of a rung's forms, the first one, two or three: over
 * all numbers, from 1 on, if `number` is 0, else of that one alone, which keeps whole tiles, and
 * has their number, if they can't be cut. TMA takes rows that are multiples of 16 bytes apart;
 * others are copied. None of a cluster that doesn't fit on the GPU: 0 after printing a line, if a
 * kernel of such a cluster is named. */
static inline int tile_choose(tile_plan *plans, int wanted, const tile_kernel *kernels, int count,
                              int forms, int number, const tile_shape *shape, const tile_gpu *gpu,
                              const tile_constants *c) {
    const int first = number > 0 ? number - 1 : 0;
    const int end = number > 0 ? number : count * forms;
    int found = 0;
    for (int i = first; i < end; ++i) {
        const enum tile_form form = (enum tile_form)(i % forms);
        tile_plan plan;
        plan.kernel = i / forms;
        plan.pitch = shape->k % 8 == 0 ? shape->k : tile_copied_pitch(shape->k);
        if (tile_most_workers(&kernels[plan.kernel], gpu) == 0)
            continue;
        tile_make_plan(&plan, &kernels[plan.kernel], shape, gpu, c, form);
        plan.number = plan.kernel * forms + (int)plan.form + 1;
        if (form == plan.form || number > 0)
            found = tile_rank(plans, found, wanted, &plan);
    }
    if (found == 0)
        fprintf(stderr, "kernel %d takes clusters of %d CTAs, and none fits on this GPU\n", number,
                tile_cluster(&kernels[first / forms]));
    return found;
}

/* The part of a cost that is largest, beside the start and the multiplications. */
static inline const char *tile_largest(const tile_cost *cost) {
    const char *const names[] = {"loads", "pitch", "epilogue", "last wave",
                                 "cut",   "copy",  "DRAM",     "clock"};
    const double cycles[] = {cost->loads, cost->pitch, cost->end,  cost->idle,
                             cost->cut,   cost->copy,  cost->dram, cost->clock};
    int largest = 0;
    for (int i = 1; i < 8; ++i)
        largest = cycles[i] > cycles[largest] ? i : largest;
    return names[largest];
}

/* Writes the kernel's name to text[size]: "128 x 256, 4 stages, cooperative, 2x1, swapped". */
static inline void tile_name(char *text, size_t size, const tile_kernel *kernel) {
    char cluster[32] = "";
    if (tile_cluster(kernel) > 1)
        snprintf(cluster, sizeof cluster, ", %dx%d", kernel->above, kernel->beside);
    snprintf(text, size, "%d x %d, %d stages, %s%s%s", kernel->rows, kernel->columns,
             kernel->stages,
             kernel->consumers == 1 ? "one consumer"
             : kernel->turns > 1    ? "ping-pong"
             : kernel->by_columns   ? "cooperative by columns"
                                    : "cooperative",
             cluster, kernel->swapped ? ", swapped" : "");
}

/* Prints plans, one a line: the microseconds that the model expects, and where they go. */
static inline void tile_explain(FILE *out, const tile_plan *plans, int count,
                                const tile_kernel *kernels, const tile_gpu *gpu) {
    const char *const forms[] = {"whole", "cut", "gathered"};
    fprintf(out, "clusters of 1, 2 ... CTAs that are resident at once:");
    for (int i = 1; i <= TILE_MOST_CLUSTER; ++i)
        fprintf(out, " %d", gpu->clusters[i]);
    fprintf(out, "\n");
    fprintf(out, "%6s  %-48s %7s %8s %6s %8s | %6s %8s %6s %6s %8s %9s %6s %6s %6s %6s  %s\n",
            "kernel", "tile", "workers", "form", "copied", "us", "start", "multiply", "loads",
            "pitch", "epilogue", "last wave", "cut", "copy", "DRAM", "clock", "most");
    for (int i = 0; i < count; ++i) {
        const tile_plan *plan = &plans[i];
        const tile_cost *cost = &plan->cost;
        const double us = 1e6 / gpu->hertz;
        char name[96];
        tile_name(name, sizeof name, &kernels[plan->kernel]);
        fprintf(out,
                "%6d  %-48s %7d %8s %6s %8.1f | %6.1f %8.1f %6.1f %6.1f %8.1f %9.1f %6.1f %6.1f "
                "%6.1f %6.1f  %s\n",
                plan->number, name, plan->workers, forms[plan->form], cost->copy > 0 ? "yes" : "no",
                cost->cycles * us, cost->start * us, cost->multiply * us, cost->loads * us,
                cost->pitch * us, cost->end * us, cost->idle * us, cost->cut * us, cost->copy * us,
                cost->dram * us, cost->clock * us, tile_largest(cost));
    }
}

#endif
