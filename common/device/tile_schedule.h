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

/* A tile, and whether its k-tiles are taken from the last to the first. */
typedef struct directed_tile {
    int m;
    int n;
    int backwards;
} directed_tile;

enum {
    HALF_ROWS = 8, /* rows of tiles that a half of the L2 has of each group of twice as many */
    STRIP_ROWS = 4 /* of them, that the SMs of a GPC have: their tiles are about a square */
};

/* Fills walk[] with the tiles of the groups' upper (half 0) or lower (half 1) rows in the order in
 * which that half's workers take them, `wave` at a time, and returns how many there are. The rows
 * are walked column by column, each `turn` tiles in the other direction, to begin with the k-tiles
 * that were read last. Of each wave the tiles in the upper strip come first. */
static inline int walk_half(directed_tile *walk, int tiles_m, int tiles_n, int half, int wave,
                            int turn) {
    const int last = tiles_m % (2 * HALF_ROWS) - half * HALF_ROWS;
    const int rows = tiles_m / (2 * HALF_ROWS) * HALF_ROWS +
                     (last < 0 ? 0 : (last < HALF_ROWS ? last : HALF_ROWS));
    int filled = 0;
    for (int first = 0; first < rows * tiles_n; first += wave)
        for (int strip = 0; strip < HALF_ROWS / STRIP_ROWS; ++strip)
            for (int i = first; i < first + wave && i < rows * tiles_n; ++i) {
                const tile_coordinate tile = grouped_tile(i, rows, tiles_n, HALF_ROWS);
                if (tile.m % HALF_ROWS / STRIP_ROWS != strip)
                    continue;
                walk[filled].m = tile.m + (tile.m / HALF_ROWS + half) * HALF_ROWS;
                walk[filled].n = tile.n;
                walk[filled++].backwards = i / turn % 2;
            }
    return filled;
}

/* Fills order[i], for i from 0 to tiles_m * tiles_n - 1, with the tile that worker i % workers
 * computes in wave i / workers: the first `upper` workers take those of half 0, the others those of
 * half 1, and what the other half has left when their own is used up. walk[] is as long as order[].
 * How a tile is computed doesn't depend on `upper`, which is measured: D's bits are the same. */
static inline void order_by_halves(directed_tile *order, directed_tile *walk, int tiles_m,
                                   int tiles_n, int workers, int upper) {
    const int turn = (workers + 1) / 2, lower = workers - upper, tiles = tiles_m * tiles_n;
    int next[2] = {0, walk_half(walk, tiles_m, tiles_n, 0, upper > 0 ? upper : turn, turn)};
    const int end[2] = {next[1], tiles};
    (void)walk_half(walk + next[1], tiles_m, tiles_n, 1, lower > 0 ? lower : turn, turn);
    for (int i = 0; i < tiles; ++i) {
        const int half = i % workers >= upper;
        order[i] = walk[next[next[half] < end[half] ? half : 1 - half]++];
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
