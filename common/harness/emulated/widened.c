#include "harness/emulated/widened.h"

#include <stdlib.h>

#include "harness/message.h"

float *widened(enum number format, const void *matrix, int rows, int columns) {
    const size_t count = (size_t)rows * (size_t)columns;
    float *copy = malloc(count * sizeof *copy);
    if (copy == NULL) {
        message("no memory for %zu bytes of operands in fp32", count * sizeof *copy);
        return NULL;
    }
    for (size_t i = 0; i < count; ++i) {
        copy[i] = number_read(format, matrix, i);
    }
    return copy;
}
