#include "harness/statistics.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* A sorted copy of the finite values, which the caller frees; NULL if there are none. */
static double *sorted_finite(const double *values, size_t count, size_t *kept) {
    *kept = 0;
    double *sorted = count == 0 ? NULL : malloc(count * sizeof *sorted);
    if (sorted == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; ++i) {
        if (isfinite(values[i])) {
            sorted[(*kept)++] = values[i];
        }
    }
    qsort(sorted, *kept, sizeof *sorted, ascending);
    return sorted;
}

static double quantile_of_sorted(const double *sorted, size_t count, double q) {
    if (count == 0) {
        return NAN;
    }
    const double position = q * (double)(count - 1);
    const size_t below = (size_t)position;
    const size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (position - (double)below) * (sorted[above] - sorted[below]);
}

double quantile(const double *values, size_t count, double q) {
    size_t kept;
    double *sorted = sorted_finite(values, count, &kept);
    const double result = quantile_of_sorted(sorted, kept, q);
    free(sorted);
    return result;
}

double median(const double *values, size_t count) { return quantile(values, count, 0.5); }

summary summarize(const double *values, size_t count) {
    summary result;
    double *sorted = sorted_finite(values, count, &result.count);
    result.median = quantile_of_sorted(sorted, result.count, 0.5);
    result.low = quantile_of_sorted(sorted, result.count, 0.1);
    result.high = quantile_of_sorted(sorted, result.count, 0.9);
    free(sorted);
    return result;
}
