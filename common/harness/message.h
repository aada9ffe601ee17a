/* Messages, the end of the program, and a progress line. Functions for what a program cannot do
 * without end the program, after one line, if they fail. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit status of a rung's program. */
enum exit_status {
    STATUS_VERIFIED = 0,
    STATUS_FAILED = 1,     /* a wrong result, a failed call, or output that cannot be written */
    STATUS_USAGE = 2,      /* bad options, unsupported shape, does not fit in memory */
    STATUS_CANNOT_RUN = 77 /* no GPU, or one that the rung is not made for */
};

/* Every later message starts with "prefix: ". The string must outlive the messages. */
void message_prefix(const char *prefix);

/* Prints "prefix: text" as a line on stderr. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message() and ends the program. */
void end_with(enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Ends the program unless a CUDA call has succeeded: "what (the format) failed: its error". */
void cuda_check(cudaError_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory for `count` elements of `size` bytes, all 0, which the caller frees. */
void *allocate(size_t count, size_t size);

/* Writes out what was printed on stdout. Returns the status, or STATUS_FAILED with a message in
 * place of STATUS_VERIFIED if that fails. */
int output_end(int status);

/* Seconds on a clock that only goes forward. */
double monotonic_seconds(void);

/* Sleeps, unless a signal comes. */
void sleep_seconds(double seconds);

/* From interrupt_catch() to interrupt_release() the first Ctrl-C is only noted: interrupted() says
 * so. A second one ends the program as usual. */
void interrupt_catch(void);
bool interrupted(void);
void interrupt_release(void);

/* A phase of known length that, on a terminal, has a line with the time left, which is rewritten in
 * place. `what` names it, and must outlive it. */
typedef struct progress {
    const char *what;
    double start, last_shown;
} progress;
void progress_begin(progress *progress, const char *what);

/* How much is done, 0 to 1. Call it as often as you like. */
void progress_update(progress *progress, double fraction_done);

/* Clears the line; the next update draws it again. */
void progress_hide(const progress *progress);

#ifdef __cplusplus
}
#endif
