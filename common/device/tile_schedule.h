/* Tile schedules: the order in which the tiles of D are computed. Tiles that are computed at the
 * same time should share rows of A and B, which then come from the L2. Plain C, so that the
 * kernels, the host and the tests run the same code. */
#ifndef GEMM_LADDER_TILE_SCHEDULE_H
#define GEMM_LADDER_TILE_SCHEDULE_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

/* A tile of D: rows m * BM and up, columns n * BN and up (of a cluster: its whole block of tiles).
 */
typedef struct tile_coordinate {
    int m;
    int n;
} tile_coordinate;

/* The tile at place `index`, 0 to tiles_m * tiles_n - 1, of the grouped raster order: groups of
 * `group` rows of tiles, each walked column by column. CTAs that run at the same time then work on
 * a block of tiles about as high as it is wide. Any grid: the last group may have fewer rows. */
HOST_DEVICE static inline tile_coordinate grouped_tile(int index, int tiles_m, int tiles_n,
                                                       int group) {
    const int first_m = index / (group * tiles_n) * group;
    const int rows = tiles_m - first_m < group ? tiles_m - first_m : group;
    const int place = index - first_m * tiles_n;
    tile_coordinate tile;
    tile.m = first_m + place % rows;
    tile.n = place / rows;
    return tile;
}

/* The tile at place `index` of one half's part of a grouped order: `half` 0 has the upper rows of
 * each group of `group` (an even number) rows, 1 the lower ones; each part of a group is walked
 * column by column. Returns false past the part's last tile. */
static inline int halved_tile(tile_coordinate *tile, int index, int tiles_m, int tiles_n, int group,
                              int half) {
    const int rows = group / 2; /* that a half has of a group */
    const int last = tiles_m % group;
    const int upper = tiles_m / group * rows + (last < rows ? last : rows);
    const int of_half = half == 0 ? upper : tiles_m - upper;
    if (index >= of_half * tiles_n)
        return 0;
    *tile = grouped_tile(index, of_half, tiles_n, rows);
    tile->m += tile->m / rows * rows + half * rows;
    return 1;
}

/* Fills order[i], for i from 0 to tiles_m * tiles_n - 1, with the tile that worker i % workers
 * computes in wave i / workers: each worker the next one of its half's part, or, once that is used
 * up, of the other's. */
static inline void order_by_halves(tile_coordinate *order, int tiles_m, int tiles_n, int group,
                                   const int *half_of_worker, int workers) {
    int next[2] = {0, 0};
    for (int i = 0; i < tiles_m * tiles_n; ++i) {
        int half = half_of_worker[i % workers];
        if (!halved_tile(&order[i], next[half], tiles_m, tiles_n, group, half)) {
            half = 1 - half;
            (void)halved_tile(&order[i], next[half], tiles_m, tiles_n, group, half);
        }
        ++next[half];
    }
}

/* How many of at most `most` workers to use for `tiles` equal tiles: as few as finish in the same
 * number of waves. More would only idle in the last wave, and an idle multiprocessor leaves its
 * share of the power to the others. */
static inline int balanced_workers(int tiles, int most) {
    const int waves = tiles / most + (tiles % most != 0);
    return tiles / waves + (tiles % waves != 0);
}

#endif
