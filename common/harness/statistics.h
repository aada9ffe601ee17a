/* Medians and quantiles of a handful of measurements. */
#ifndef GEMM_LADDER_HARNESS_STATISTICS_H
#define GEMM_LADDER_HARNESS_STATISTICS_H

#include <stddef.h>

typedef struct summary {
    double median;
    double low;  /* the 10 % quantile */
    double high; /* the 90 % quantile */
} summary;

/* The q-quantile (0 to 1) with linear interpolation between neighbours. Values that are not finite
 * stand for "not measured" and are left out; NAN if nothing is left. */
double quantile(const double *values, size_t count, double q);

/* The 0.5-quantile. */
double median(const double *values, size_t count);

/* The median and the spread. */
summary summarize(const double *values, size_t count);

#endif
