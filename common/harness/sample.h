/* Which elements of a large output --check sample looks at. */
#ifndef GEMM_LADDER_HARNESS_SAMPLE_H
#define GEMM_LADDER_HARNESS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_RANDOM = 65536, SAMPLE_PER_EDGE = 1024, SAMPLE_CORNERS = 4, SAMPLE_EDGES = 4 };
enum { SAMPLE_COUNT = SAMPLE_RANDOM + SAMPLE_CORNERS + SAMPLE_EDGES * SAMPLE_PER_EDGE };

/* Fills positions with row * n + column of SAMPLE_COUNT elements of an [m][n] output: its corners,
 * places spread over its first and last rows and columns, and random ones. Small outputs get some
 * of them twice. */
void sample_positions(int m, int n, uint64_t positions[SAMPLE_COUNT]);

#endif
