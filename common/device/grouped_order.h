/* The grouped raster order by arithmetic alone: a kernel gets it as an argument, and finds any tile
 * in a dozen instructions. Plain C, so that the kernels, the host and the tests run the same code.
 */
#ifndef GEMM_LADDER_GROUPED_ORDER_H
#define GEMM_LADDER_GROUPED_ORDER_H

#include "device/tile_schedule.h"

#include <math.h>
#include <stdint.h>

/* A number to divide by, as a factor: a division takes the GPU some forty instructions, a
 * multiplication and a shift take three. */
typedef struct divisor {
    int value;
    int shift;
    uint32_t factor; /* 2^shift / value, rounded up */
} divisor;

/* The divisor `value`, from 1 on. With 2^(shift - 31) >= value the error of the factor is too small
 * to show in a quotient of a number below 2^31. (Granlund and Montgomery, 1994.) */
static inline divisor divisor_of(int value) {
    divisor made = {value, 31, 0};
    while (1LL << (made.shift - 31) < value)
        ++made.shift;
    made.factor = (uint32_t)(((1ULL << made.shift) + value - 1) / value);
    return made;
}

/* number / by.value, of a number from 0 on. */
HOST_DEVICE static inline int divided(int number, divisor by) {
    return (int)((uint64_t)(uint32_t)number * by.factor >> by.shift);
}

/* An order of tiles_m x tiles_n tiles: see grouped_tile(). */
typedef struct grouped_order {
    int tiles;
    int last;          /* the last group, which may have fewer rows */
    divisor group;     /* tiles of a group */
    divisor rows;      /* of a group */
    divisor rows_last; /* of the last one */
} grouped_order;

/* The order with groups of `most` rows of tiles, or of all if there are fewer. */
static inline grouped_order grouped_order_of(int tiles_m, int tiles_n, int most) {
    const int rows = most < tiles_m ? most : tiles_m;
    grouped_order order;
    order.tiles = tiles_m * tiles_n;
    order.last = (tiles_m - 1) / rows;
    order.group = divisor_of(rows * tiles_n);
    order.rows = divisor_of(rows);
    order.rows_last = divisor_of(tiles_m - order.last * rows);
    return order;
}

/* How many rows of tiles a group needs for `workers` tiles of this width and height to form about a
 * square: in steps of 4, so that few shapes have a short last group. */
static inline int square_group(int workers, int width, int height) {
    const int rows = (int)sqrt((double)workers * width / height);
    return rows < 4 ? 1 : rows / 4 * 4;
}

/* grouped_tile() of this order. */
HOST_DEVICE static inline tile_coordinate ordered_tile(const grouped_order *order, int index) {
    const int group = divided(index, order->group);
    const int place = index - group * order->group.value;
    const divisor rows = group < order->last ? order->rows : order->rows_last;
    tile_coordinate tile;
    tile.n = divided(place, rows);
    tile.m = group * order->rows.value + place - tile.n * rows.value;
    return tile;
}

#endif
