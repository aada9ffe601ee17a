#include "harness/emulated/launch_progress.h"

#include "emulator/emulator.h"
#include "harness/message.h"

static progress line;
static double launches_in_all;
static double launches_before; /* the one that runs */
static double multiply_adds_of_one;

/* A kernel with few, long-lived CTAs is far on long before the first of them is done. */
static void show(double grid_done, uint64_t multiply_adds) {
    const double multiplied =
        multiply_adds_of_one > 0 ? (double)multiply_adds / multiply_adds_of_one : 0;
    const double done = grid_done > multiplied ? grid_done : multiplied;
    progress_update(&line, (launches_before + done) / launches_in_all);
}

void launch_progress_begin(size_t launches, double multiply_adds) {
    launches_in_all = (double)launches;
    launches_before = -1; /* the next one is number 0 */
    multiply_adds_of_one = multiply_adds;
    progress_begin(&line, "emulating");
    emulator_on_progress(show);
}

void launch_progress_next(void) { ++launches_before; }

void launch_progress_hide(void) { progress_hide(&line); }
