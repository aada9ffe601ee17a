/* The fastest of thousands, when there is time for a launch or two of each. */
#pragma once

#include <stdbool.h>

typedef struct ranked {
    int number;
    double seconds; /* of its fastest launch; 0: it was not launched */
} ranked;

/* Sorts those that were launched and are not out, the fastest first. Returns how many they are. */
int ranked_sort(ranked *all, int count);

/* Launches each of all[0 ... count - 1] once, then the faster half once more, and so on, until
 * `most` are left. One launch can be slow by chance, so the fastest of each counts; and the clock
 * may fall meanwhile, so every other time it goes backwards. launch returns the seconds of one
 * launch, which may be a number's first, or NAN for one that is out. Shows the progress. A Ctrl-C
 * ends it: those that were launched count. Stores in *launched how many were, and in all[] those
 * that are left, the fastest first. Returns how many they are. */
int rank_by_halving(ranked *all, int count, int most,
                    double (*launch)(void *context, int number, bool first), void *context,
                    int *launched);
