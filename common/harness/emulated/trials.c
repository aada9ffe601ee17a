/* The shapes of a default run: small ones that take any rung to its edges. */
#include <stdint.h>

#include "emulator/emulator.h"
#include "harness/arithmetic.h"
#include "harness/machine.h"

/* No rung has a larger tile. The numbers of tiles and k-tiles below are those of such a tile; a
 * smaller one has more. */
enum { TILE = 256, TILE_K = 64, TILE_MOVED = 64 };
/* Past the last whole tile, k-tile: odd numbers of the 8 elements that rows are multiples of. */
enum { RAGGED_M = 40, RAGGED_N = 72, RAGGED_K = 8 };
enum { RANDOM_ORDERS = 3 };

typedef struct list {
    const step *step;
    const options *o;
    options *trial; /* [count] */
    size_t count;
} list;

static void add(list *list, int m, int n, int k) {
    options *trial = &list->trial[list->count++];
    *trial = *list->o;
    trial->m = m;
    trial->n = n;
    trial->k = k;
    shape_round_up(list->step, &trial->m, &trial->n, &trial->k);
    /* One phase, and an exact one. */
    trial->inputs = arithmetic_of(list->step).family->exact_inputs;
    trial->random_orders = RANDOM_ORDERS;
    trial->json = NULL;
}

static int64_t multiply_adds(const problem *p) { return (int64_t)p->m * p->n * p->k; }

/* Keeps a shape if it is the largest one, up to a limit, that the rung takes its kernel for. */
static void consider(const step *step, problem shape, problem largest[MOST_KERNELS]) {
    static const int64_t MOST_MULTIPLY_ADDS = 160 * 1000 * 1000;
    shape_round_up(step, &shape.m, &shape.n, &shape.k);
    const int kernel = step->kernel_of(&shape);
    if (kernel >= 0 && kernel < MOST_KERNELS && multiply_adds(&shape) <= MOST_MULTIPLY_ADDS &&
        multiply_adds(&shape) > multiply_adds(&largest[kernel])) {
        largest[kernel] = shape;
    }
}

/* Of a rung that chooses: a shape for each of its kernels, of some hundred with each k. */
static void add_kernels(list *list, const int k[], size_t count) {
    problem largest[MOST_KERNELS] = {{0}};
    for (size_t i = 0; i < count; ++i) {
        for (int m = RAGGED_M; m <= 4 * TILE; m += TILE / 4) {
            for (int n = RAGGED_N; n <= 4 * TILE; n += TILE / 4) {
                consider(list->step, (problem){.m = m, .n = n, .k = k[i]}, largest);
            }
        }
    }
    for (int i = 0; i < MOST_KERNELS; ++i) {
        if (largest[i].m > 0) {
            add(list, largest[i].m, largest[i].n, largest[i].k);
        }
    }
}

size_t machine_trials(const step *step, int sms, const options *o, options trials[MOST_TRIALS]) {
    list list = {.step = step, .o = o, .trial = trials};
    const int stages = step->stages > 0 ? step->stages : 1;
    const int around = (2 * stages + 1) * TILE_K; /* twice around the ring, and once more */
    const int fewer = (stages > 1 ? stages - 1 : 1) * TILE_K;
    if (!o->is_default || machine_traces() || emulator_detects_races()) {
        return 0;
    }
    if (arithmetic_of(step).moves) {
        add(&list, 2 * TILE_MOVED, (sms + 1) * TILE_MOVED, 0);
        add(&list, 1, 3 * TILE_MOVED + 1, 0);
        add(&list, 3 * TILE_MOVED + 1, 1, 0);
        return list.count;
    }
    add(&list, TILE, (sms + 1) * TILE, around); /* more tiles than CTAs, and an odd one last */
    add(&list, TILE, 2 * TILE, fewer);
    add(&list, TILE + RAGGED_M, TILE + RAGGED_N, 2 * TILE_K + RAGGED_K);
    add(&list, 1, 1, 1);
    if (step->kernel_of != NULL) {
        const int k[] = {around + RAGGED_K, around / 2 + RAGGED_K, 2 * TILE_K + RAGGED_K};
        add_kernels(&list, k, sizeof k / sizeof *k);
    }
    return list.count;
}
