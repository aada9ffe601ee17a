/* The memory of a reference, and which elements it has; the same on both machines. */
#include "harness/reference.h"

#include <stdlib.h>

#include "harness/buffers.h"
#include "harness/message.h"

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

static uint64_t *upload_positions(size_t rows, size_t columns) {
    const size_t bytes = SAMPLE_COUNT * sizeof(uint64_t);
    uint64_t *positions = allocate(SAMPLE_COUNT, sizeof *positions);
    uint64_t *on_device = device_memory(bytes, "the sample");
    sample_positions((int)rows, (int)columns, positions);
    device_upload(on_device, positions, bytes);
    free(positions);
    return on_device;
}

double reference_bytes(const arithmetic *arithmetic, int m, int n, bool sampled) {
    const double elements = (double)m * (double)n;
    const size_t element = sizeof(double) + sizeof(float) * (arithmetic->fp16_sums ? 2
                                                             : arithmetic->scaled  ? 3
                                                                                   : 1);
    if (arithmetic->moves) {
        return elements * sizeof(uint32_t);
    }
    return sampled ? (double)(SAMPLE_COUNT * (element + sizeof(uint64_t)))
                   : elements * (double)element;
}

reference reference_create(const arithmetic *arithmetic, int m, int n, int k, bool sampled) {
    static const char what[] = "the reference";
    reference result = {.arithmetic = *arithmetic, .m = m, .n = n, .k = k};
    result.rows = (size_t)(arithmetic->transposes ? n : m);
    result.columns = (size_t)(arithmetic->transposes ? m : n);
    sampled = sampled && !arithmetic->moves;
    result.count = sampled ? (size_t)SAMPLE_COUNT : result.rows * result.columns;
    if (arithmetic->moves) {
        result.words = device_memory(result.count * sizeof *result.words, what);
        return result;
    }
    result.values = device_memory(result.count * sizeof *result.values, what);
    result.magnitudes = device_memory(result.count * sizeof *result.magnitudes, what);
    if (arithmetic->fp16_sums || arithmetic->scaled) {
        result.partials = device_memory(result.count * sizeof *result.partials, what);
    }
    if (arithmetic->scaled) {
        result.modelled = device_memory(result.count * sizeof *result.modelled, what);
    }
    if (sampled) {
        result.positions = upload_positions(result.rows, result.columns);
    }
    return result;
}

void reference_destroy(const reference *reference) {
    void *const arrays[] = {reference->values,   reference->magnitudes, reference->partials,
                            reference->modelled, reference->words,      reference->positions};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
        (void)cudaFree(arrays[i]);
    }
}
