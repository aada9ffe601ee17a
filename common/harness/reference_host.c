#include "harness/reference_host.h"

#include <math.h>

void reference_host(enum number format, const void *a, const void *b, size_t m, size_t n, size_t k,
                    double *values, double *magnitudes) {
    for (size_t row = 0; row < m; ++row) {
        for (size_t column = 0; column < n; ++column) {
            double sum = 0;
            double magnitude = 0;
            for (size_t i = 0; i < k; ++i) {
                const double product = (double)number_read(format, a, row * k + i) *
                                       (double)number_read(format, b, column * k + i);
                sum += product;
                magnitude += fabs(product);
            }
            values[row * n + column] = sum;
            magnitudes[row * n + column] = magnitude;
        }
    }
}
