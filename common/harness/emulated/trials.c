/* The shapes of a default run: small ones that take any rung to its edges. */
#include "harness/arithmetic.h"
#include "harness/machine.h"

/* No rung has a larger tile. The numbers of tiles and k-tiles below are those of such a tile; a
 * smaller one has more. */
enum { TILE = 256, TILE_K_BYTES = 128, TILE_MOVED = 64 };
/* Past the last whole tile, k-tile: odd numbers of the 8 elements that rows are multiples of. */
enum { RAGGED_M = 40, RAGGED_N = 72, RAGGED_K = 8 };

static options trial(const step *step, const options *o, int m, int n, int k) {
    options trial = *o;
    trial.m = m;
    trial.n = n;
    trial.k = k;
    shape_round_up(step, &trial.m, &trial.n, &trial.k);
    /* One phase, and an exact one. */
    trial.inputs = k == 0 ? INPUTS_BITS : INPUTS_INTEGERS;
    trial.random_orders = 2;
    trial.json = NULL;
    return trial;
}

size_t machine_trials(const step *step, int sms, const options *o, options trials[MOST_TRIALS]) {
    const bool moves = arithmetic_of(step).moves;
    const int tile_k = TILE_K_BYTES / (int)number_bytes(arithmetic_of(step).operands);
    const int stages = step->stages > 0 ? step->stages : 1;
    /* Twice around the ring, and once more; once, if kernels with rings of their own follow. */
    const int around = ((step->kernels > 0 ? 1 : 2) * stages + 1) * tile_k;
    const int fewer = (stages > 1 ? stages - 1 : 1) * tile_k;
    /* From the quickest to the longest: most mistakes show at once. */
    const struct {
        bool is_made;
        int m, n, k;
    } shapes[] = {
        {moves, 2 * TILE_MOVED, (sms + 1) * TILE_MOVED, 0},
        {moves, 1, 3 * TILE_MOVED + 1, 0},
        {moves, 3 * TILE_MOVED + 1, 1, 0},
        {!moves, 1, 1, 1},
        {!moves, TILE, 2 * TILE, fewer},
        {!moves, TILE + RAGGED_M, TILE + RAGGED_N, 2 * tile_k + RAGGED_K},
        /* few rows: less tiles than CTAs, of many k-tiles */
        {!moves && step->multiple_m == 1, 1, TILE + RAGGED_N, around + RAGGED_K},
        /* rows that TMA cannot copy */
        {!moves && step->any_row, TILE + 1, TILE + RAGGED_N + 3, 2 * tile_k + RAGGED_K - 1},
        /* more tiles than CTAs, and an odd one last */
        {!moves, TILE, (sms + 1) * TILE, around},
    };
    size_t count = 0;
    if (!o->is_default || machine_traces()) {
        return 0;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        if (shapes[i].is_made) {
            trials[count++] = trial(step, o, shapes[i].m, shapes[i].n, shapes[i].k);
        }
    }
    /* Each kernel, and some twice: its tiles in two rows and columns at least, of k-tiles that are
     * enough to be cut in parts. The operands are the same: one other product of them is enough. */
    for (int kernel = 1; kernel <= step->kernels && kernel <= MOST_KERNELS; ++kernel) {
        options *last = &trials[count++];
        *last = trial(step, o, TILE + RAGGED_M, TILE + RAGGED_N, 8 * tile_k - RAGGED_K);
        last->kernel = kernel;
        last->first_order = 1;                /* the first is tried at the shapes above */
        last->random_orders = kernel / 2 % 2; /* two processes take turns */
        last->alone = kernel > 1;
    }
    return count;
}
