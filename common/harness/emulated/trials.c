/* The shapes of a default run: small ones that take any rung to its edges. */
#include "emulator/emulator.h"
#include "harness/arithmetic.h"
#include "harness/machine.h"

/* No rung has a larger tile. The numbers of tiles and k-tiles below are those of such a tile; a
 * smaller one has more. */
enum { TILE = 256, TILE_K_BYTES = 128, TILE_MOVED = 64 };
/* Past the last whole tile, k-tile: odd numbers of the 8 elements that rows are multiples of. */
enum { RAGGED_M = 40, RAGGED_N = 72, RAGGED_K = 8 };
enum { RANDOM_ORDERS = 2 };

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
    trial->inputs = trial->k == 0 ? INPUTS_BITS : INPUTS_INTEGERS;
    trial->random_orders = RANDOM_ORDERS;
    trial->json = NULL;
}

size_t machine_trials(const step *step, int sms, const options *o, options trials[MOST_TRIALS]) {
    list list = {.step = step, .o = o, .trial = trials};
    const int tile_k = TILE_K_BYTES / (int)number_bytes(arithmetic_of(step).operands);
    const int stages = step->stages > 0 ? step->stages : 1;
    /* Twice around the ring, and once more; once, if kernels with rings of their own follow. */
    const int around = ((step->kernels > 0 ? 1 : 2) * stages + 1) * tile_k;
    const int fewer = (stages > 1 ? stages - 1 : 1) * tile_k;
    if (!o->is_default || machine_traces()) {
        return 0;
    }
    if (arithmetic_of(step).moves) {
        add(&list, 2 * TILE_MOVED, (sms + 1) * TILE_MOVED, 0);
        add(&list, 1, 3 * TILE_MOVED + 1, 0);
        add(&list, 3 * TILE_MOVED + 1, 1, 0);
        return list.count;
    }
    /* From the quickest to the longest: most mistakes show at once. */
    add(&list, 1, 1, 1);
    add(&list, TILE, 2 * TILE, fewer);
    add(&list, TILE + RAGGED_M, TILE + RAGGED_N, 2 * tile_k + RAGGED_K);
    if (step->multiple_m == 1) { /* few rows: less tiles than CTAs, of many k-tiles */
        add(&list, 1, TILE + RAGGED_N, around + RAGGED_K);
    }
    if (step->any_row) { /* rows that TMA cannot copy */
        add(&list, TILE + 1, TILE + RAGGED_N + 3, 2 * tile_k + RAGGED_K - 1);
    }
    add(&list, TILE, (sms + 1) * TILE, around); /* more tiles than CTAs, and an odd one last */
    /* Each kernel, and some twice: its tiles in two rows and columns at least, of k-tiles that are
     * enough to be cut in parts. The operands are the same: one other product of them is enough. */
    for (int kernel = 1; kernel <= step->kernels && kernel <= MOST_KERNELS; ++kernel) {
        add(&list, TILE + RAGGED_M, TILE + RAGGED_N, 8 * tile_k - RAGGED_K);
        options *trial = &list.trial[list.count - 1];
        trial->kernel = kernel;
        trial->first_order = 1;                /* the first is tried at the shapes above */
        trial->random_orders = kernel / 2 % 2; /* two processes take turns */
        trial->alone = kernel > 1;
    }
    return list.count;
}
