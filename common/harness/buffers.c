#include "harness/buffers.h"

#include <stdint.h>
#include <stdio.h>

#include "harness/message.h"

void *device_memory(size_t bytes, const char *what) {
    void *memory = NULL;
    cuda_check(cudaMalloc(&memory, bytes), "allocating %zu bytes of device memory for %s", bytes,
               what);
    return memory;
}

/* Copies and fills on the legacy stream may return early, and a non-blocking stream does not wait
 * for them. (CUDA Runtime API: API synchronization behavior.) */
static void finish(const char *what) {
    cuda_check(cudaStreamSynchronize(cudaStreamLegacy), "waiting for %s", what);
}

size_t buffer_footprint(size_t bytes) { return bytes + 2 * (size_t)GUARD_BYTES + BUFFER_ALIGNMENT; }

buffer buffer_create(size_t bytes, bool guarded, const char *what) {
    const size_t all = guarded ? buffer_footprint(bytes) : bytes;
    void *memory = device_memory(all, what);
    buffer result = {memory, memory, bytes};
    if (guarded) {
        const uintptr_t start = (uintptr_t)memory + GUARD_BYTES + BUFFER_ALIGNMENT - 1;
        result.payload = (unsigned char *)(start / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT);
        cuda_check(cudaMemset(memory, GUARD_BYTE, all), "writing the guards of %s", what);
        finish("the guards");
    }
    return result;
}

void buffer_destroy(const buffer *buffer) { (void)cudaFree(buffer->allocation); }

void buffer_poison(const buffer *buffer, struct CUstream_st *stream) {
    cuda_check(cudaMemsetAsync(buffer->payload, 0xff, buffer->bytes, stream),
               "filling %zu bytes with NaN", buffer->bytes);
}

void buffer_upload(const buffer *buffer, const void *from, size_t bytes) {
    cuda_check(cudaMemcpy(buffer->payload, from, bytes, cudaMemcpyHostToDevice),
               "copying %zu bytes to the device", bytes);
    finish("a copy to the device");
}

void buffer_download(const buffer *buffer, void *to, size_t bytes) {
    cuda_check(cudaMemcpy(to, buffer->payload, bytes, cudaMemcpyDeviceToHost),
               "copying %zu bytes from the device", bytes);
}

/* The offset of the first changed byte of a guard, or GUARD_BYTES. */
static size_t first_change(const unsigned char *guard) {
    static unsigned char bytes[GUARD_BYTES];
    size_t offset = 0;
    cuda_check(cudaMemcpy(bytes, guard, GUARD_BYTES, cudaMemcpyDeviceToHost),
               "reading a guard band");
    while (offset < GUARD_BYTES && bytes[offset] == GUARD_BYTE) {
        ++offset;
    }
    return offset;
}

bool buffer_guards_intact(const buffer *buffer, char *text, size_t size) {
    const bool guarded = buffer->payload != buffer->allocation;
    const size_t before = guarded ? first_change(buffer->payload - GUARD_BYTES) : GUARD_BYTES;
    const size_t after = guarded ? first_change(buffer->payload + buffer->bytes) : GUARD_BYTES;
    if (before != GUARD_BYTES) {
        snprintf(text, size, "the byte %zu before its first one was overwritten",
                 GUARD_BYTES - before);
    } else if (after != GUARD_BYTES) {
        snprintf(text, size, "the byte %zu after its last one was overwritten", after + 1);
    }
    return before == GUARD_BYTES && after == GUARD_BYTES;
}
