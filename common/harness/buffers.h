/* GPU memory with guard bands, so that a write beside a matrix is found. */
#ifndef GEMM_LADDER_HARNESS_BUFFERS_H
#define GEMM_LADDER_HARNESS_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GUARD_BYTES = 64 * 1024, BUFFER_ALIGNMENT = 1024 };

/* The byte of the guard bands. Read as bf16 it is 3.4e38, so that a kernel that reads beside a
 * matrix gets a result that is far off. */
enum { GUARD_BYTE = 0x7f };

typedef struct buffer {
    void *allocation;
    unsigned char *payload; /* in GPU memory, aligned to BUFFER_ALIGNMENT */
    size_t bytes;           /* of the payload; the second guard starts right behind it */
} buffer;

/* GPU memory that a buffer with this payload takes. */
size_t buffer_footprint(size_t bytes);

/* All of these return 0, or non-zero after printing one line. */
int buffer_create(buffer *buffer, size_t bytes, const char *what);
/* Fills the payload with bytes 0xff: NaN in bf16, fp16, fp32 and fp64. */
int buffer_poison(const buffer *buffer, struct CUstream_st *stream);
int buffer_upload(const buffer *buffer, const void *from, size_t bytes);
int buffer_download(const buffer *buffer, void *to, size_t bytes);
/* *intact says whether both guards are as they were made; if not, text says which one is not, and
 * where. Call it when no kernel runs. */
int buffer_guards_intact(const buffer *buffer, bool *intact, char *text, size_t size);

void buffer_destroy(buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
