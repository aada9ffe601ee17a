/* Device memory, and guard bands around it that reveal a write outside a matrix. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "step.h"

enum { GUARD_BYTES = 64 * 1024, GUARD_BYTE = 0x7f, BUFFER_ALIGNMENT = 1024 };

typedef struct buffer {
    void *allocation;       /* that of the payload alone if it has no guards */
    unsigned char *payload; /* in device memory; between guards aligned to BUFFER_ALIGNMENT */
    size_t bytes;           /* of the payload; the second guard starts right after it */
} buffer;

/* Device memory with any contents; free it with cudaFree(). what names it in messages. */
void *device_memory(size_t bytes, const char *what);

/* Device memory that a guarded buffer with this payload takes. */
size_t buffer_footprint(size_t bytes);

/* A payload with any contents. If guarded, it is between two guard bands; else it is alone, so that
 * the emulator and memcheck see every access outside it. */
buffer buffer_create(size_t bytes, bool guarded, const char *what);
void buffer_destroy(const buffer *buffer);

/* Fills the payload with bytes 0xff: NaN in bf16, fp16, fp32 and fp64. Enqueued on the stream. */
void buffer_poison(const buffer *buffer, struct CUstream_st *stream);

/* Copy the first `bytes` bytes of the payload from the host, or to it; when they return, the copy
 * has arrived, for all streams. Call them when no kernel runs that uses it: a copy does not wait
 * for a non-blocking stream. */
void buffer_upload(const buffer *buffer, const void *from, size_t bytes);
void buffer_download(const buffer *buffer, void *to, size_t bytes);

/* Whether the guards, if it has some, are as they were made; if not, text says which one is not,
 * and where. Call it when no kernel runs. */
bool buffer_guards_intact(const buffer *buffer, char *text, size_t size);
