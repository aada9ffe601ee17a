/* The choice of a tile: a model of the cycles that each kernel of a family takes for a product on
 * the GPU at hand. Plain C, so that rungs, the tests and bench/fit.py run the same code.
 *
 * Cycles are of the SMs' highest clock. A k-tile takes as long as the slowest of three: the tensor
 * cores, the loads through the SM's port, and those of all SMs from the L2. A wave takes as long as
 * the slower of the SMs and DRAM. Under load the clock falls: every byte has a price in cycles. */
#ifndef GEMM_LADDER_TILE_MODEL_H
#define GEMM_LADDER_TILE_MODEL_H

#include "device/grouped_order.h"
#include "device/tile_plan.h"

#include <stdio.h>
#include <string.h>

/* What the model doesn't know: bench/fit.py fits these to the times of all kernels at many shapes.
 * Today's are of times at 175 shapes on an H100 and at 45, most of them deep and narrow, on an H200
 * (bench/results/<gpu>/fit.jsonl.xz): four of the 300 at which the choice is judged, all small. */
#define TILE_CONSTANTS(CONSTANT)                                                                   \
    CONSTANT(start, 6838, "cycles of a launch until the first loads have landed")                  \
    CONSTANT(start_2, 2502, "cycles more of a launch with clusters of two CTAs")                   \
    CONSTANT(start_4, 1060,                                                                        \
             "with clusters of three or four; larger ones cost no more than one CTA")              \
    CONSTANT(wgmma_rows, 22.67, "cycles in which a wgmma reads its 64 rows from shared memory")    \
    CONSTANT(port_bytes, 151.3, "bytes that an SM receives in a cycle, if no other one does")      \
    CONSTANT(outside_row, 2.834, "cycles of a tile's row outside of the matrix, which TMA fills")  \
    CONSTANT(l2_sector, 6906, "bytes that the L2 delivers in a cycle of rows at 32 bytes")         \
    CONSTANT(l2_ragged, 3136, "of rows at 16 bytes")                                               \
    CONSTANT(l2_copied, 4770,                                                                      \
             "at most, without multicast and beside the kernel that copies operands")              \
    CONSTANT(l2_apart, 4908, "at most, if CTAs that share rows are at different k-tiles")          \
    CONSTANT(l2_2, 0.8265, "of a cluster's loads: the part that the L2 is busy with, of two")      \
    CONSTANT(l2_4, 0.7055, "of three or four CTAs")                                                \
    CONSTANT(l2_8, 0.6175, "of more")                                                              \
    CONSTANT(dram_share, 0.9691, "of DRAM's peak rate that is reached")                            \
    CONSTANT(dram_write, 0.9376, "what a byte written to DRAM costs, in bytes read")               \
    CONSTANT(dram_swapped, 1.284, "how much more swapped: 128 bytes of a row at a time")           \
    CONSTANT(l2_written, 0.1763, "of the L2: a D of this size costs DRAM nothing meanwhile")       \
    CONSTANT(l2_kept, 2.586, "of the L2 that keeps operands from one wave to the next")            \
    CONSTANT(end, 417.8, "cycles of a tile's end at least")                                        \
    CONSTANT(end_column, 5.388, "for a column of 64 rows of accumulators, to staging memory")      \
    CONSTANT(end_line, 2.718, "for a store of a row's part of one 128-byte line of D")             \
    CONSTANT(end_alone, 0.7968, "what is left of both if no other consumer stores as well")        \
    CONSTANT(end_ahead, 0.4256, "how much of the next tile's first loads a tile's end hides")      \
    CONSTANT(end_turns, 1.29, "how much longer that takes beside the other consumer's wgmmas")     \
    CONSTANT(end_ragged, 1.786, "how much longer if rows of boxes begin within an L2 sector")      \
    CONSTANT(end_plain, 6.106, "how much longer by plain stores, where n is no multiple of 8")     \
    CONSTANT(gather, 119.7, "cycles for a part until the cluster has seen that all are there")     \
    CONSTANT(gather_column, 35.04, "for a column of 64 rows, to shared memory and back")           \
    CONSTANT(add, 2364, "cycles of the launch that adds parts which are apart")                    \
    CONSTANT(add_bytes, 695.1, "bytes of sums that it reads in a cycle")                           \
    CONSTANT(copy, 1016, "cycles of the launch that copies unaligned operands")                    \
    CONSTANT(clock_byte, 0.006474, "cycles that the clock loses for a byte that each SM receives") \
    CONSTANT(blend, 3.399, "exponent: how little the tensor cores and the loads add if close")     \
    CONSTANT(blend_dram, 2.53, "the same of the SMs and DRAM")

#define TILE_MEMBER(name, value, meaning) double name;
#define TILE_VALUE(name, value, meaning) value,
typedef struct tile_constants {
    TILE_CONSTANTS(TILE_MEMBER)
} tile_constants;
static const tile_constants TILE_FITTED = {TILE_CONSTANTS(TILE_VALUE)};

/* The terms of which a plan's cost is the sum. */
#define TILE_TERMS(TERM)                                                                           \
    TERM(start, "the launch and the first loads")                                                  \
    TERM(multiply, "the tensor cores at their peak rate")                                          \
    TERM(loads, "that they wait for loads")                                                        \
    TERM(pitch, "that they wait longer since rows are no multiple of 128 bytes apart")             \
    TERM(end, "the epilogue, as far as it isn't hidden")                                           \
    TERM(idle, "the last wave, times the share of SMs that have no tile in it")                    \
    TERM(parts, "sums of parts, to shared or device memory and back")                              \
    TERM(copy, "unaligned operands, to the workspace")                                             \
    TERM(dram, "that DRAM takes longer than the SMs")                                              \
    TERM(clock, "that the clock loses under load")

#define TILE_TERM_MEMBER(name, meaning) double name;
#define TILE_TERM_NAME(name, meaning) #name,
typedef struct tile_terms {
    TILE_TERMS(TILE_TERM_MEMBER)
} tile_terms;
static const char *const TILE_TERM_NAMES[] = {TILE_TERMS(TILE_TERM_NAME)};
enum { TILE_TERM_COUNT = sizeof TILE_TERM_NAMES / sizeof *TILE_TERM_NAMES };

/* What the model knows about a GPU; all of it is queried. */
typedef struct tile_gpu {
    int clusters[TILE_MOST_CLUSTER + 1]; /* [i]: of i CTAs that are resident at once */
    double hertz;                        /* the SMs' highest clock */
    double l2_bytes;                     /* the size of the L2 */
    double dram_bytes; /* DRAM's peak: bytes in a cycle of the SMs' highest clock */
} tile_gpu;

/* A plan that is to be judged. */
typedef struct tile_case {
    const tile_kind *kind;
    const tile_plan *plan;
    const problem *p;
    const tile_gpu *gpu;
    const tile_constants *c;
} tile_case;

/* The time of two things that happen at once: the longer, and more if they are about equal. */
static inline double tile_blend(double a, double b, double exponent) {
    const double longer = fmax(a, b);
    return longer * pow(1 + pow(fmin(a, b) / longer, exponent), 1 / exponent);
}

/* One of four values, by the number of CTAs in a cluster. */
static inline double tile_by_cluster(int ctas, double one, double two, double four, double eight) {
    return ctas == 1 ? one : ctas == 2 ? two : ctas <= 4 ? four : eight;
}

/* The tensor cores' cycles for a k-tile. A wgmma multiplies 64 rows by 16 of k; it takes as long as
 * its multiplications, or as its reads of shared memory. */
static inline double tile_multiply(const tile_case *of) {
    const int halves = of->kind->by_columns ? 2 : 1;
    const double columns = (double)of->kind->columns / halves;
    return TILE_K / 16 * (of->kind->rows / 64) * halves *
           fmax(columns / 2, of->c->wgmma_rows + columns / 4);
}

/* The rows of a CTA's box of an operand for a k-tile: a tile's rows, or its part of those that
 * `ctas` CTAs share; a matrix of fewer rows has no more. */
static inline double tile_rows_loaded(int tile, int ctas, int matrix) {
    return fmin((double)tile / ctas, matrix);
}

/* The rows of the box at the matrix's edge that are outside of it, as far as they delay the CTA
 * that loads most such boxes: one in its `waves` tiles, or one in `tiles`, the tiles along this
 * side. Boxes wholly outside cost nothing, because the rungs load others in their place. */
static inline double tile_rows_outside(int tile, int ctas, int matrix, int waves, int tiles) {
    const int box = tile / ctas;
    return matrix % box > 0 ? (box - matrix % box) * fmax(1.0 / waves, 1.0 / tiles) : 0;
}

/* The CTAs that would load as slowly as `busy` clusters do if all were spread evenly: each GPC of
 * the GPU has its own port to the L2, and the one with most clusters is the slowest. The GPU
 * doesn't say how many GPCs there are; two clusters of eight CTAs fit into each. */
static inline double tile_loading(const tile_case *of, double busy) {
    const int *clusters = of->gpu->clusters;
    const int gpcs = clusters[8] > 1 ? (clusters[8] + 1) / 2 : 1;
    return fmin(clusters[1], ceil(busy / gpcs) * gpcs * tile_cluster(of->kind, of->plan));
}

/* The cycles of a k-tile while `ctas` CTAs load, if rows are `pitch` elements apart. */
static inline double tile_k_tile(const tile_case *of, int pitch, double ctas) {
    const tile_kind *kind = of->kind;
    const tile_constants *c = of->c;
    const int m = kind->swapped ? of->p->n : of->p->m;
    const int n = kind->swapped ? of->p->m : of->p->n;
    const bool whole = pitch % 64 == 0, sectors = pitch % 16 == 0; /* lines; 32 bytes */
    const double loaded = tile_rows_loaded(kind->rows, kind->beside, m) +
                          tile_rows_loaded(kind->columns, kind->above, n);
    const int waves = of->plan->waves;
    const double outside =
        tile_rows_outside(kind->rows, kind->beside, m, waves, of->plan->tiles_m) +
        tile_rows_outside(kind->columns, kind->above, n, waves, of->plan->tiles_n);
    /* What other CTAs of the cluster load for this one comes through its port as well. */
    const double received = (fmin(kind->rows, m) + fmin(kind->columns, n)) * (2 * TILE_K);
    const double port = received / c->port_bytes + outside * c->outside_row;
    const double l2 = fmin(whole     ? HUGE_VAL
                           : sectors ? c->l2_sector
                                     : c->l2_ragged,
                           of->plan->parts > 1 && !of->plan->apart    ? c->l2_apart
                           : of->p->k % 8 > 0 && tile_ctas(kind) == 1 ? c->l2_copied
                                                                      : HUGE_VAL);
    const double shared = tile_by_cluster(tile_ctas(kind), 1, c->l2_2, c->l2_4, c->l2_8);
    return tile_blend(fmax(tile_multiply(of), port), loaded * (2 * TILE_K) * ctas / l2 * shared,
                      c->blend);
}

/* The cycles of a tile's end, from accumulators to D. TMA stores a box row by row; a row that
 * begins anywhere in a line of 64 elements touches one more. */
static inline double tile_end(const tile_case *of) {
    const tile_kind *kind = of->kind;
    const tile_constants *c = of->c;
    const int n = of->p->n, box = kind->box_columns;
    const int sharing = kind->ping_pong ? 1 : kind->consumers; /* consumers of a tile */
    const bool sectors = n % 16 == 0 && box % 16 == 0;
    const int begins = n % 64 == 0 && box % 64 == 0   ? 64 /* at a multiple of these columns */
                       : n % 32 == 0 && box % 32 == 0 ? 32
                       : sectors                      ? 16
                                                      : 8;
    const double lines = 64.0 / box * (1 + (box - begins) / 64.0);
    const double columns = kind->rows / 64.0 * kind->columns / sharing;
    return c->end + columns * (c->end_column + c->end_line * lines) *
                        (sharing == 1 ? c->end_alone : 1) *
                        (n % 8 > 0 ? c->end_plain
                         : sectors ? 1
                                   : c->end_ragged);
}

/* The bytes that DRAM moves, in bytes read. Each matrix is moved once; an operand again for a later
 * wave, as far as the L2 has lost it. The tiles of a wave form about a square. Waves follow each
 * other along n and read the same rows of A; the next row of waves reads all of B again. What the
 * L2 can keep of D is written there alone. */
static inline double tile_dram(const tile_case *of) {
    const tile_constants *c = of->c;
    const double m = of->p->m, n = of->p->n, row = 2.0 * of->p->k;
    const double side = sqrt((double)of->gpu->clusters[1] * of->kind->rows * of->kind->columns);
    const double kept = c->l2_kept * of->gpu->l2_bytes;
    const double lost_a = 1 - fmin(1, kept / (2 * side * row));
    const double lost_b = 1 - fmin(1, kept / ((n + side) * row));
    const double written = fmax(0, 2 * m * n - c->l2_written * of->gpu->l2_bytes);
    return (m * (1 + fmax(0, n / side - 1) * lost_a) + n * (1 + fmax(0, m / side - 1) * lost_b)) *
               row +
           c->dram_write * (of->kind->swapped ? c->dram_swapped : 1) * written;
}

/* Adds `count` waves in which `busy` clusters or CTAs have a tile each, or all parts of one, and
 * end it in `after` cycles: to `end`, one of the terms. More waves may follow. */
static inline void tile_add_waves(tile_terms *terms, double *end, const tile_case *of, int count,
                                  double busy, double after, bool follow) {
    const tile_kind *kind = of->kind;
    const tile_constants *c = of->c;
    const tile_plan *plan = of->plan;
    const int k_tiles = tile_pieces(tile_pieces(of->p->k, TILE_K), plan->parts);
    const int pitch = tile_pitch(of->p->k);
    const double ctas = tile_loading(of, busy);
    const double used = count * busy / plan->workers;
    const double peak = k_tiles * tile_multiply(of);
    const double aligned = k_tiles * tile_k_tile(of, TILE_K, ctas);
    const double all = pitch % TILE_K == 0 ? aligned : k_tiles * tile_k_tile(of, pitch, ctas);
    /* While a tile ends, the ring is filled for the next one. In ping-pong the end of a tile
     * overlaps with the multiplication of the next one, as far as that lasts, and takes longer. */
    const double first = fmin(1, (double)kind->stages / k_tiles) * all;
    const double ahead = follow ? c->end_ahead * fmin(after, first) : 0;
    const double tile =
        kind->ping_pong ? fmax(all, (all + after * c->end_turns) / 2) : all + after - ahead;
    const double bytes = 2.0 * k_tiles * (TILE_K * (kind->rows + kind->columns));
    const double clock =
        c->clock_byte * bytes * busy * tile_cluster(kind, plan) / of->gpu->clusters[1];
    const double dram =
        tile_dram(of) / (c->dram_share * of->gpu->dram_bytes) * busy / tile_jobs(plan);
    terms->multiply += used * peak;
    terms->loads += used * (aligned - peak);
    terms->pitch += used * (all - aligned);
    *end += used * (tile - all);
    terms->idle += (count - used) * tile;
    terms->clock += count * clock;
    terms->dram += count * (tile_blend(tile + clock, dram, c->blend_dram) - tile - clock);
}

/* The cycles of a plan, and where they go. */
static inline double tile_cycles(const tile_case *of, tile_terms *terms) {
    const tile_kind *kind = of->kind;
    const tile_constants *c = of->c;
    const tile_plan *plan = of->plan;
    const int last = tile_jobs(plan) - (plan->waves - 1) * plan->workers;
    const double end = tile_end(of);
    double cycles = 0;
    memset(terms, 0, sizeof *terms);
    if (plan->workers == 0)
        return HUGE_VAL;
    terms->start =
        c->start + tile_by_cluster(tile_cluster(kind, plan), 0, c->start_2, c->start_4, 0);
    if (plan->apart) {
        terms->parts = c->add + 4.0 * of->p->m * of->p->n * plan->parts / c->add_bytes;
        tile_add_waves(terms, &terms->parts, of, 1, last, 0, false);
    } else if (plan->parts > 1) {
        const double columns = kind->rows / 64.0 * kind->columns / kind->consumers;
        terms->parts = c->gather * plan->parts;
        terms->end = end / plan->parts;
        tile_add_waves(terms, &terms->parts, of, 1, last, columns * c->gather_column, false);
    } else {
        terms->end = kind->ping_pong ? end : 0; /* nothing hides the last one */
        tile_add_waves(terms, &terms->end, of, plan->waves - 1, plan->workers, end, true);
        tile_add_waves(terms, &terms->end, of, 1, last, end, false);
    }
    if (tile_pitch(of->p->k) != of->p->k) /* read and written: 4 bytes an element */
        terms->copy = c->copy + 4 * ((double)of->p->m + of->p->n) * of->p->k /
                                    (c->dram_share * of->gpu->dram_bytes);
    for (int i = 0; i < TILE_TERM_COUNT; ++i)
        cycles += ((const double *)terms)[i];
    return cycles;
}

/* The cycles of a plan by the fitted constants. */
static inline double tile_fitted_cycles(const tile_kind *kind, const tile_plan *plan,
                                        const problem *p, const tile_gpu *gpu) {
    const tile_case of = {kind, plan, p, gpu, &TILE_FITTED};
    tile_terms terms;
    return tile_cycles(&of, &terms);
}

/* Puts a plan among the `found` cheapest so far, of at most `wanted`, in their order. Returns how
 * many there are then. */
static inline int tile_rank(tile_plan *plans, int found, int wanted, const tile_plan *plan) {
    int place = found;
    for (; place > 0 && plan->cost < plans[place - 1].cost; --place)
        if (place < wanted)
            plans[place] = plans[place - 1];
    if (place < wanted)
        plans[place] = *plan;
    return found < wanted ? found + 1 : found;
}

/* The height of the schedule's groups, in tiles or clusters' blocks of them. In general the tiles
 * of a wave form about a square. If 16 rows of tiles fit in a wave, groups are lower: then CTAs
 * with neighbouring numbers request the same lines at about the same time. In trials on an H200
 * that was faster, but slower where tiles are in parts or few rows. */
static inline int tile_group(const tile_kind *kind, const tile_plan *plan) {
    const int tiles_m = plan->tiles_m, tiles_n = plan->tiles_n;
    const bool merges = tile_ctas(kind) * plan->parts == 1 && tiles_m >= 8;
    if (merges && tiles_n < 4)
        return 1;
    if (merges && (tiles_m < 16 ? tiles_m : 16) * tiles_n <= plan->workers)
        return 4;
    return square_group(plan->workers * plan->parts, kind->columns * kind->beside,
                        kind->rows * kind->above);
}

/* Writes a kernel's name to text[size]: "128 x 96, 7 stages, cooperative, 2x1, swapped, gathers".
 */
static inline void tile_name(char *text, size_t size, const tile_kind *kind) {
    const char *const how = kind->consumers == 1 ? "one consumer"
                            : kind->ping_pong    ? "ping-pong"
                            : kind->by_columns   ? "cooperative by columns"
                                                 : "cooperative";
    char cluster[32] = "";
    if (tile_ctas(kind) > 1)
        snprintf(cluster, sizeof cluster, ", %dx%d", kind->above, kind->beside);
    snprintf(text, size, "%d x %d, %d stages, %s%s%s%s", kind->rows, kind->columns, kind->stages,
             how, cluster, kind->swapped ? ", swapped" : "", kind->gathers ? ", gathers" : "");
}

/* Prints a plan: the microseconds that the model expects, and where they go. With `first` it begins
 * with the clusters that fit, and the names of the columns. */
static inline void tile_explain(FILE *out, bool first, const tile_kind *kind, const tile_plan *plan,
                                const problem *p, const tile_gpu *gpu) {
    const tile_case of = {kind, plan, p, gpu, &TILE_FITTED};
    const double us = 1e6 / gpu->hertz;
    tile_terms terms;
    char name[96];
    const double cycles = tile_cycles(&of, &terms);
    if (first) {
        fprintf(out, "clusters of 1, 2 ... CTAs that are resident at once:");
        for (int i = 1; i <= TILE_MOST_CLUSTER; ++i)
            fprintf(out, " %d", gpu->clusters[i]);
        fprintf(out, "\n%6s  %-52s %7s %5s %8s |", "kernel", "tile", "workers", "parts", "us");
        for (int i = 0; i < TILE_TERM_COUNT; ++i)
            fprintf(out, " %8s", TILE_TERM_NAMES[i]);
        fprintf(out, "\n");
    }
    tile_name(name, sizeof name, kind);
    fprintf(out, "%6d  %-52s %7d %5d %8.1f |", plan->kernel + 1, name, plan->workers, plan->parts,
            cycles * us);
    for (int i = 0; i < TILE_TERM_COUNT; ++i)
        fprintf(out, " %8.1f", ((const double *)&terms)[i] * us);
    fprintf(out, "\n");
}

#endif
