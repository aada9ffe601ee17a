#include "harness/sample.h"

#include "harness/random.h"

/* The sample is the same in every run, whatever the seed of the inputs. */
enum { SAMPLE_SEED = 1 };

/* The i-th of SAMPLE_PER_EDGE places spread over length elements. */
static uint64_t spread(uint64_t length, uint64_t i) { return length * i / SAMPLE_PER_EDGE; }

void sample_positions(int m, int n, uint64_t positions[SAMPLE_COUNT]) {
    const uint64_t rows = (uint64_t)m;
    const uint64_t columns = (uint64_t)n;
    const uint64_t last_row = (rows - 1) * columns;
    uint64_t *next = positions;
    *next++ = 0;
    *next++ = columns - 1;
    *next++ = last_row;
    *next++ = last_row + columns - 1;
    for (uint64_t i = 0; i < SAMPLE_PER_EDGE; ++i) {
        *next++ = spread(columns, i);
        *next++ = last_row + spread(columns, i);
        *next++ = spread(rows, i) * columns;
        *next++ = spread(rows, i) * columns + columns - 1;
    }
    for (uint64_t i = 0; i < SAMPLE_RANDOM; ++i) {
        *next++ = random_bits(SAMPLE_SEED, RANDOM_STREAM_SAMPLE, i) % (rows * columns);
    }
}
