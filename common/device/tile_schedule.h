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

enum {
    STRIP = 4,         /* rows of tiles in a strip: 16 workers in a row have about a square */
    STRIPPED_ROWS = 16 /* rows of tiles in a group of strips */
};

/* Fills order[i], for i from 0 to tiles_m * tiles_n - 1, with the tile that worker i % workers
 * computes in wave i / workers. A wave has as many tiles as there are workers, of the grouped order
 * with STRIPPED_ROWS rows; the first of the workers have those in the first strip, column by
 * column, the next ones those in the next strip. */
static inline void strip_order(tile_coordinate *order, int tiles_m, int tiles_n, int workers) {
    const int tiles = tiles_m * tiles_n;
    for (int first = 0, filled = 0; first < tiles; first += workers)
        for (int strip = 0; strip < STRIPPED_ROWS / STRIP; ++strip)
            for (int i = first; i < first + workers && i < tiles; ++i) {
                const tile_coordinate tile = grouped_tile(i, tiles_m, tiles_n, STRIPPED_ROWS);
                if (tile.m % STRIPPED_ROWS / STRIP == strip)
                    order[filled++] = tile;
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
