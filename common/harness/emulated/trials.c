/* The shapes of --trials and of a default run: small ones that take a rung to its edges. */
#include "harness/arithmetic.h"
#include "harness/machine.h"

/* Of a record that says nothing about its tile. */
static const step_tile ANY_TILE = {.m = 64, .n = 64, .k = 64};

/* Past the last whole tile. With odd numbers of 8 elements, rows are multiples of 16 bytes alone.
 */
enum { RAGGED_M = 40, RAGGED_N = 72, RAGGED_K = 8 };
/* Columns more than a multiple of 8: rows of D begin anywhere. */
enum { ODD = 3, HALF_ROW = 4 };
static const int MORE_COLUMNS[] = {ODD, HALF_ROW, 2 * ODD};
/* The longest row that the warps of a copy share, 256 columns each, without going around. */
enum { LONGEST_PART = 4096 };
enum { LEAST_SHARE = 4 }; /* k-tiles that a part of a tile has at least */

typedef struct list {
    const step *step;
    const options *options;
    int sms;
    trial *trials;
    size_t count;
} list;

static int at_least_one(int number) { return number > 0 ? number : 1; }

static int pieces(int length, int piece) { return (length + piece - 1) / piece; }

/* Rows of a tile's last part that end in the last consumer's, wherever consumers share its rows. */
static int last_rows(int m) { return m * 3 / 4 > 24 ? m * 3 / 4 - 24 : pieces(m, 2); }

static trial *add(list *list, int m, int n, int k, const char *edge) {
    trial *added = &list->trials[list->count++];
    options *o = &added->options;
    added->edge = edge;
    *o = *list->options;
    o->m = m, o->n = n, o->k = k;
    shape_round_up(list->step, &o->m, &o->n, &o->k);
    /* One phase, and an exact one. */
    o->inputs = k == 0 ? INPUTS_BITS : INPUTS_INTEGERS;
    o->random_orders = 2;
    o->json = NULL;
    return added;
}

static void add_moves(list *list, const step_tile *tile) {
    const int m = tile->m, n = tile->n;
    add(list, 1, 1, 0, "a corner of a tile");
    add(list, m + 9, 2 * n + 20, 0, "clipped edges");
    add(list, 1, 3 * n + 1, 0, "a row of tiles");
    add(list, 3 * m + 1, 1, 0, "a column of tiles");
    add(list, 2 * m, (list->sms + 1) * n, 0, "several tiles per CTA");
}

/* A rung with one kernel, or with two widths. */
static void add_products(list *list, const step_tile *tile) {
    const step *step = list->step;
    const int above = at_least_one(tile->above), beside = at_least_one(tile->beside);
    const int rows = tile->m * above, columns = tile->n * beside;
    const int workers = list->sms / (above * beside);
    const int k = tile->k, stages = at_least_one(tile->stages);
    const bool clips = step->multiple.m < tile->m;
    const bool goes_twice = tile->ping_pong || tile->wide_n > 0;
    const int several = (goes_twice ? 2 : 1) * workers + 1;
    add(list, 3, 1, 1, "a corner of a tile");
    if (stages > 2) {
        /* With two widths it takes the narrow one, and more tiles than of the wide one. */
        add(list, rows, 2 * (tile->wide_n > 0 ? tile->wide_n : columns), (stages - 1) * k,
            "fewer k-tiles than stages");
    }
    if (stages > 1) {
        add(list, clips ? 1 : rows, columns, 2 * stages * k + RAGGED_K, "twice around the ring");
    }
    if (clips) {
        add(list, rows + RAGGED_M, columns + RAGGED_N, 2 * k + RAGGED_K, "clipped edges");
    }
    if (tile->wide_n > 0) {
        add(list, tile->m + RAGGED_M, workers / 2 * tile->wide_n, 2 * k + RAGGED_K,
            "a wave of wide tiles");
    }
    add(list, (tile->group > 0 ? tile->group : 2) * rows + last_rows(rows), columns + RAGGED_N,
        k - RAGGED_K, "a short last group");
    const int rounds = tile->ping_pong ? 2 : 1; /* that a consumer skips: the same parity again */
    add(list, rows, several * columns, (rounds * stages + 1) * k, "several tiles per CTA");
}

/* The kernel that most can go wrong with: ping-pong, in clusters. */
static int fullest_of(const step *step) {
    int best = -1, fullest = 0;
    for (int kernel = 0; kernel < step->kernels; ++kernel) {
        const step_tile tile = step->tile_of(kernel);
        const int much = 2 * tile.ping_pong + (tile.above * tile.beside > 1);
        if (!tile.gathers && much > best) {
            fullest = kernel;
            best = much;
        }
    }
    return fullest;
}

/* Where the kernel's edges are clipped and a CTA has several tiles, or parts of them. */
static problem shape_of_kernel(const step_tile *tile, int sms, bool fullest) {
    const int above = at_least_one(tile->above), beside = at_least_one(tile->beside);
    const int workers = at_least_one(sms / (above * beside));
    const int n = tile->n * beside;
    problem shape = {.m = last_rows(tile->m * above), .n = n - 8};
    int k_tiles = 3 * LEAST_SHARE + 1; /* three parts, which divide no tile's rows, nor these */
    if (!tile->gathers) {
        /* In a ping-pong a consumer skips three rounds of the ring, which change the parity; or it
         * stores a tile of one k-tile while the other still reads the ring. */
        const bool is_short = tile->ping_pong && !fullest;
        k_tiles = is_short ? 1 : (tile->ping_pong ? 3 : 1) * tile->stages + 1;
        shape.m += tile->m * above;
        shape.n = (tile->ping_pong ? workers - is_short : 2) * n + RAGGED_N;
    }
    if (tile->apart && workers >= 4) { /* two parts of two tiles */
        shape.n += n;
    }
    shape.k = k_tiles * tile->k - RAGGED_K;
    return shape;
}

static void add_kernel(list *list, int kernel) {
    const step *step = list->step;
    const step_tile tile = step->tile_of(kernel);
    const bool by_threads = step->any_row && (tile.gathers || list->count % 2 == 0);
    const int more = by_threads ? MORE_COLUMNS[list->count % 3] : 0;
    const bool fullest = kernel == fullest_of(step);
    problem shape = shape_of_kernel(&tile, list->sms, fullest);
    trial *added =
        add(list, shape.m, shape.n + more, shape.k, fullest ? "several tiles per CTA" : NULL);
    options *o = &added->options;
    shape = (problem){.m = o->m, .n = o->n, .k = o->k, .kernel = kernel + 1};
    if (step_kernel(step, &shape) != kernel) { /* no cluster of it fits on so few SMs */
        --list->count;
        return;
    }
    o->kernel = kernel + 1;
    o->first_order = 1; /* the first is tried at other shapes */
    o->random_orders = tile.gathers || tile.ping_pong || list->count % 2 == 1;
    o->alone = kernel > 0;
}

/* A rung that chooses: at shapes where it does, then each kernel. */
static void add_choices(list *list) {
    add(list, 3, 1, 1, "a corner of a tile");
    add(list, 5, 584, 584, "few rows");
    if (list->step->any_row) {
        add(list, 129, 203, 135, "rows that TMA does not take");
        add(list, 60, 128 + HALF_ROW, LONGEST_PART + 7, "a tile in parts");
    }
    add(list, 296, 328, 136, "clipped edges");
    for (int kernel = 0; kernel < list->step->kernels && kernel < MOST_KERNELS; ++kernel) {
        add_kernel(list, kernel);
    }
}

size_t machine_trials(const step *step, int sms, const options *options,
                      trial trials[MOST_TRIALS]) {
    list list = {.step = step, .options = options, .sms = sms, .trials = trials};
    const step_tile *tile = step->tile.m > 0 ? &step->tile : &ANY_TILE;
    if (arithmetic_of(step).moves) {
        add_moves(&list, tile);
    } else if (step->tile_of != NULL) {
        add_choices(&list);
    } else {
        add_products(&list, tile);
    }
    return list.count;
}
