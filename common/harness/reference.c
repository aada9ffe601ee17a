/* The memory of a reference; the same on both machines. */
#include "harness/reference.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cuda_failed.h"
#include "harness/message.h"
#include "harness/sample.h"
#include "harness/shape.h"

static int upload_positions(reference *reference) {
    const size_t bytes = SAMPLE_COUNT * sizeof(uint64_t);
    uint64_t *positions = malloc(bytes);
    if (positions == NULL) {
        message("no memory for %zu bytes of sample positions", bytes);
        return 1;
    }
    sample_positions(reference->m, reference->n, positions);
    const bool failed =
        cuda_failed(cudaMalloc((void **)&reference->positions, bytes),
                    "allocating %zu bytes of device memory for the sample", bytes) ||
        cuda_failed(cudaMemcpy(reference->positions, positions, bytes, cudaMemcpyHostToDevice),
                    "copying the sample's positions to the device");
    free(positions);
    return failed;
}

bool reference_bytes(int m, int n, bool sampled, size_t *bytes) {
    if (sampled) {
        return shape_bytes(SAMPLE_COUNT, 1, sizeof(double) + sizeof(float) + sizeof(uint64_t),
                           bytes);
    }
    return shape_bytes(m, n, sizeof(double) + sizeof(float), bytes);
}

int reference_create(reference *reference, int m, int n, int k, bool sampled) {
    memset(reference, 0, sizeof *reference);
    reference->m = m;
    reference->n = n;
    reference->k = k;
    reference->count = sampled ? (size_t)SAMPLE_COUNT : (size_t)m * (size_t)n;
    const size_t values = reference->count * sizeof(double);
    const size_t magnitudes = reference->count * sizeof(float);
    if (cuda_failed(cudaMalloc((void **)&reference->values, values),
                    "allocating %zu bytes of device memory for the reference", values) ||
        cuda_failed(cudaMalloc((void **)&reference->magnitudes, magnitudes),
                    "allocating %zu bytes of device memory for the reference", magnitudes) ||
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
    (void)cudaFree(reference->positions);
    memset(reference, 0, sizeof *reference);
}
