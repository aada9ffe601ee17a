/* Tiles and parts of tiles as a table that the host makes. Plain C, so that the kernels, the host
 * and the tests run the same code. */
#ifndef GEMM_LADDER_SCHEDULED_TILE_H
#define GEMM_LADDER_SCHEDULED_TILE_H

#include "device/tile_schedule.h"

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

#endif
