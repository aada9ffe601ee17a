/* Tiles along a Hilbert curve. Plain C, so that the host and the tests run the same code. */
#ifndef GEMM_LADDER_HILBERT_H
#define GEMM_LADDER_HILBERT_H

#include "device/tile_schedule.h"

/* A walk along a Hilbert curve: the grid, the order that it fills, and how many tiles that has. */
typedef struct hilbert_walk {
    int tiles_m;
    int tiles_n;
    tile_coordinate *order;
    int count;
} hilbert_walk;

/* The smaller of two. */
static inline int hilbert_least(int first, int second) { return first < second ? first : second; }

/* Walks the square with one corner at (m, n) whose sides are the vectors a and b, along one of the
 * axes each: from that corner to the one at a. Squares that lie outside the grid are skipped. */
static inline void hilbert_square(hilbert_walk *walk, int m, int n, tile_coordinate a,
                                  tile_coordinate b) {
    const tile_coordinate lowest = {hilbert_least(m, m + a.m + b.m),
                                    hilbert_least(n, n + a.n + b.n)};
    const tile_coordinate half_a = {a.m / 2, a.n / 2};
    const tile_coordinate half_b = {b.m / 2, b.n / 2};
    const tile_coordinate back_a = {-half_a.m, -half_a.n};
    const tile_coordinate back_b = {-half_b.m, -half_b.n};

    if (lowest.m >= walk->tiles_m || lowest.n >= walk->tiles_n)
        return;
    if (half_a.m == 0 && half_a.n == 0) {
        walk->order[walk->count++] = lowest;
        return;
    }
    hilbert_square(walk, m, n, half_b, half_a);
    hilbert_square(walk, m + half_b.m, n + half_b.n, half_a, half_b);
    hilbert_square(walk, m + half_a.m + half_b.m, n + half_a.n + half_b.n, half_a, half_b);
    hilbert_square(walk, m + a.m + half_b.m, n + a.n + half_b.n, back_b, back_a);
}

/* Writes the grid's tiles_m * tiles_n tiles to `order` along a Hilbert curve. The curve fills the
 * smallest square that covers the grid and whose side is a power of two; tiles outside the grid are
 * left out. Consecutive tiles form a compact block, however many they are, so no group size has to
 * be chosen. */
static inline void hilbert_order(tile_coordinate *order, int tiles_m, int tiles_n) {
    hilbert_walk walk = {tiles_m, tiles_n, order, 0};
    int side = 1;
    while (side < tiles_m || side < tiles_n)
        side *= 2;
    const tile_coordinate a = {side, 0};
    const tile_coordinate b = {0, side};
    hilbert_square(&walk, 0, 0, a, b);
}

#endif
