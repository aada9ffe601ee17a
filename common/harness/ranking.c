#include "harness/ranking.h"

#include <math.h>
#include <stdlib.h>

#include "harness/message.h"

static int by_seconds(const void *left, const void *right) {
    const double a = ((const ranked *)left)->seconds;
    const double b = ((const ranked *)right)->seconds;
    return (a > b) - (a < b);
}

int ranked_sort(ranked *all, int count) {
    int good = 0;
    for (int i = 0; i < count; ++i) {
        if (all[i].seconds > 0) { /* launched, and not NAN */
            all[good++] = all[i];
        }
    }
    qsort(all, (size_t)good, sizeof *all, by_seconds);
    return good;
}

int rank_by_halving(ranked *all, int count, int most,
                    double (*launch)(void *context, int number, bool first), void *context,
                    int *launched) {
    const double expected = 2.0 * count; /* launches, if half of them go each time */
    double done = 0;
    progress progress;
    progress_begin(&progress, "ranking (Ctrl-C ends the ranking)");
    interrupt_catch();
    *launched = 0;
    for (bool backwards = false; count > most && !interrupted(); backwards = !backwards) {
        for (int i = 0; i < count && !interrupted(); ++i) {
            ranked *next = &all[backwards ? count - 1 - i : i];
            const bool first = next->seconds == 0;
            const double seconds = launch(context, next->number, first);
            *launched += first;
            next->seconds = first ? seconds : fmin(next->seconds, seconds);
            progress_update(&progress, fmin(1, ++done / expected));
        }
        const int good = ranked_sort(all, count);
        const int half = good / 2 > most ? good / 2 : most;
        count = good < half ? good : half;
    }
    interrupt_release();
    progress_hide(&progress);
    return count;
}
