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

/* How many of at most `most` workers to use for `tiles` equal tiles: as few as finish in the same
 * number of waves. More would only idle in the last wave, and an idle multiprocessor leaves its
 * share of the power to the others. */
static inline int balanced_workers(int tiles, int most) {
    const int waves = tiles / most + (tiles % most != 0);
    return tiles / waves + (tiles % waves != 0);
}

/* A tile, and which of its operands the wave of tiles after its own reads again. */
typedef struct scheduled_tile {
    tile_coordinate at;
    int row_again;    /* A's rows */
    int column_again; /* B's */
} scheduled_tile;

/* The most workers whose first places a kernel takes as an argument. The chip of compute capability
 * 9.0 has 144 SMs, and no GPU made of it has more. */
enum { MOST_WORKERS = 144 };

/* Marks on each of the `count` tiles of an order what the next wave reads again. Worker w computes
 * tiles w, w + workers, w + 2 * workers and so on, so a wave is `workers` tiles. */
static inline void mark_reuse(scheduled_tile *order, int count, int workers) {
    for (int i = 0; i < count; ++i) {
        const int next = (i / workers + 1) * workers;
        order[i].row_again = order[i].column_again = 0;
        for (int j = next; j < count && j < next + workers; ++j) {
            order[i].row_again |= order[j].at.m == order[i].at.m;
            order[i].column_again |= order[j].at.n == order[i].at.n;
        }
    }
}

/* A tile, or a part of one: some of its k-tiles. The parts of a tile are numbered in the order of
 * their k-tiles; numbers go on from tile to tile. */
typedef struct scheduled_part {
    scheduled_tile tile;
    int first_k_tile;
    int k_tiles;    /* 0: there is nothing to do here */
    int parts;      /* of this tile; 1: it is whole, and has no numbers */
    int number;     /* of this part */
    int first_part; /* the number of the tile's first part */
} scheduled_part;

/* What a part's loads are. */
typedef struct scheduled_loads {
    scheduled_tile tile;
    int first_k_tile;
    int k_tiles;
} scheduled_loads;

/* The loads of a part. */
HOST_DEVICE static inline scheduled_loads loads_of(const scheduled_part *part) {
    const scheduled_loads loads = {part->tile, part->first_k_tile, part->k_tiles};
    return loads;
}

/* Makes an order of tiles one of parts. With `cut` the tiles of the last wave are cut along k, so
 * that each worker gets the same number of their k-tiles, give or take one. A worker's share may
 * end one tile and begin the next, so it has two places in the order. Earlier waves, and without
 * `cut` all, stay whole. Worker w computes work[w], work[w + workers] and so on; *places, at most
 * tiles + 2 * workers, is their number. Returns how many numbered parts there are. (Stream-K:
 * Osama et al., 2023.) */
static inline int schedule_parts(scheduled_part *work, int *places, const scheduled_tile *order,
                                 int tiles, int k_tiles, int workers, int cut) {
    const int whole = cut ? tiles / workers * workers : tiles;
    const long long total = (long long)(tiles - whole) * k_tiles;
    const int sharing = total < workers ? (int)total : workers;
    int parts = 0;
    *places = whole + (cut ? 2 * workers : 0);
    for (int i = 0; i < *places; ++i) {
        const scheduled_part part = {order[i < whole ? i : 0], 0, i < whole ? k_tiles : 0, 1, 0, 0};
        work[i] = part;
    }
    for (int worker = 0; worker < sharing; ++worker) {
        long long first = total * worker / sharing;
        const long long end = total * (worker + 1) / sharing;
        for (int place = whole + worker; first < end; place += workers) {
            const int tile = (int)(first / k_tiles);
            const long long next = (tile + 1LL) * k_tiles;
            /* The workers whose shares hold the tile's first and its last k-tile. */
            const int from = (int)(((next - k_tiles + 1) * sharing - 1) / total);
            const int to = (int)((next * sharing - 1) / total);
            const scheduled_part part = {order[whole + tile],
                                         (int)(first % k_tiles),
                                         (int)((next < end ? next : end) - first),
                                         to - from + 1,
                                         parts,
                                         parts - (worker - from)};
            work[place] = part;
            parts += to > from;
            first += part.k_tiles;
        }
    }
    return parts;
}

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
