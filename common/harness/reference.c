/* The memory of a reference; the same on both machines. */
#include "harness/reference.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cuda_failed.h"
#include "harness/message.h"
#include "harness/sample.h"

static int upload_positions(reference *reference) {
    const size_t bytes = SAMPLE_COUNT * sizeof(uint64_t);
    uint64_t *positions = malloc(bytes);
    if (positions == NULL) {
        message("no memory for %zu bytes of sample positions", bytes);
        return 1;
    }
    sample_positions((int)reference->rows, (int)reference->columns, positions);
    const bool failed =
        cuda_failed(cudaMalloc((void **)&reference->positions, bytes),
                    "allocating %zu bytes of device memory for the sample", bytes) ||
        cuda_failed(cudaMemcpy(reference->positions, positions, bytes, cudaMemcpyHostToDevice),
                    "copying the sample's positions to the device");
    free(positions);
    return failed;
}

double reference_bytes(const arithmetic *arithmetic, int m, int n, bool sampled) {
    const double elements = (double)m * (double)n;
    const size_t element = sizeof(double) + sizeof(float) * (arithmetic->fp16_sums ? 2 : 1);
    if (arithmetic->moves) {
        return elements * sizeof(uint32_t);
    }
    return sampled ? (double)(SAMPLE_COUNT * (element + sizeof(uint64_t)))
                   : elements * (double)element;
}

static int allocate(void **memory, size_t bytes) {
    return cuda_failed(cudaMalloc(memory, bytes),
                       "allocating %zu bytes of device memory for the reference", bytes);
}

int reference_create(reference *reference, const arithmetic *arithmetic, int m, int n, int k,
                     bool sampled) {
    memset(reference, 0, sizeof *reference);
    reference->arithmetic = *arithmetic;
    reference->m = m;
    reference->n = n;
    reference->k = k;
    reference->rows = (size_t)(arithmetic->transposes ? n : m);
    reference->columns = (size_t)(arithmetic->transposes ? m : n);
    sampled = sampled && !arithmetic->moves;
    reference->count = sampled ? (size_t)SAMPLE_COUNT : reference->rows * reference->columns;
    const size_t count = reference->count;
    if (arithmetic->moves) {
        return allocate((void **)&reference->words, count * sizeof(uint32_t));
    }
    if (allocate((void **)&reference->values, count * sizeof(double)) != 0 ||
        allocate((void **)&reference->magnitudes, count * sizeof(float)) != 0 ||
        (arithmetic->fp16_sums &&
         allocate((void **)&reference->partials, count * sizeof(float)) != 0) ||
        (sampled && upload_positions(reference) != 0)) {
        reference_destroy(reference);
        return 1;
    }
    return 0;
}

void reference_destroy(reference *reference) {
    /* After a fault every call repeats the error that was reported already. */
    (void)cudaFree(reference->values);
    (void)cudaFree(reference->magnitudes);
    (void)cudaFree(reference->partials);
    (void)cudaFree(reference->words);
    (void)cudaFree(reference->positions);
    memset(reference, 0, sizeof *reference);
}
