#include "harness/emulated/host_moves.h"

#include <stddef.h>
#include <stdint.h>

void host_moves(enum computation computes, const problem *problem) {
    const size_t m = (size_t)problem->m;
    const size_t n = (size_t)problem->n;
    const uint32_t *a = problem->a;
    uint32_t *d = problem->d;
    for (size_t row = 0; row < m; ++row) {
        for (size_t column = 0; column < n; ++column) {
            const uint32_t word = *a++;
            if (computes == TRANSPOSE_FP32) {
                d[column * m + row] = word;
            } else {
                d[row * n + column] = word + 1;
            }
        }
    }
}
