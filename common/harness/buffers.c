#include "harness/buffers.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/cuda_failed.h"

size_t buffer_footprint(size_t bytes) { return bytes + 2 * (size_t)GUARD_BYTES + BUFFER_ALIGNMENT; }

static int make_guards(const buffer *buffer, const char *what) {
    return cuda_failed(cudaMemset(buffer->payload - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES),
                       "writing the guard before %s", what) ||
           cuda_failed(cudaMemset(buffer->payload + buffer->bytes, GUARD_BYTE, GUARD_BYTES),
                       "writing the guard after %s", what);
}

int buffer_create(buffer *buffer, size_t bytes, bool guarded, const char *what) {
    memset(buffer, 0, sizeof *buffer);
    const size_t total = guarded ? buffer_footprint(bytes) : bytes;
    if (cuda_failed(cudaMalloc(&buffer->allocation, total),
                    "allocating %zu bytes of device memory for %s", total, what)) {
        buffer->allocation = NULL;
        return 1;
    }
    const uintptr_t start = (uintptr_t)buffer->allocation + (guarded ? GUARD_BYTES : 0);
    const uintptr_t aligned = (start + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    buffer->payload = (unsigned char *)(guarded ? aligned : start);
    buffer->bytes = bytes;
    buffer->guarded = guarded;
    if (guarded && make_guards(buffer, what) != 0) {
        buffer_destroy(buffer);
        return 1;
    }
    return 0;
}

int buffer_poison(const buffer *buffer, struct CUstream_st *stream) {
    return cuda_failed(cudaMemsetAsync(buffer->payload, 0xff, buffer->bytes, stream),
                       "filling %zu bytes with NaN", buffer->bytes);
}

int buffer_upload(const buffer *buffer, const void *from, size_t bytes) {
    return cuda_failed(cudaMemcpy(buffer->payload, from, bytes, cudaMemcpyHostToDevice),
                       "copying %zu bytes to the device", bytes);
}

int buffer_download(const buffer *buffer, void *to, size_t bytes) {
    return cuda_failed(cudaMemcpy(to, buffer->payload, bytes, cudaMemcpyDeviceToHost),
                       "copying %zu bytes from the device", bytes);
}

/* The offset of the first changed byte of a guard, or GUARD_BYTES. */
static int first_change(const unsigned char *guard, size_t *offset) {
    static unsigned char bytes[GUARD_BYTES];
    if (cuda_failed(cudaMemcpy(bytes, guard, GUARD_BYTES, cudaMemcpyDeviceToHost),
                    "reading a guard band")) {
        return 1;
    }
    *offset = 0;
    while (*offset < GUARD_BYTES && bytes[*offset] == GUARD_BYTE) {
        ++*offset;
    }
    return 0;
}

int buffer_guards_intact(const buffer *buffer, bool *intact, char *text, size_t size) {
    size_t before = GUARD_BYTES;
    size_t after = GUARD_BYTES;
    if (buffer->guarded && (first_change(buffer->payload - GUARD_BYTES, &before) != 0 ||
                            first_change(buffer->payload + buffer->bytes, &after) != 0)) {
        return 1;
    }
    *intact = before == GUARD_BYTES && after == GUARD_BYTES;
    if (before != GUARD_BYTES) {
        snprintf(text, size, "the byte %zu before its first one was overwritten",
                 GUARD_BYTES - before);
    } else if (after != GUARD_BYTES) {
        snprintf(text, size, "the byte %zu after its last one was overwritten", after + 1);
    } else if (size > 0) {
        text[0] = '\0';
    }
    return 0;
}

void buffer_destroy(buffer *buffer) {
    if (buffer->allocation != NULL) {
        /* After a fault every call repeats the error that was reported already. */
        (void)cudaFree(buffer->allocation);
    }
    memset(buffer, 0, sizeof *buffer);
}
