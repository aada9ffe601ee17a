/* One-line messages on stderr, the end of the program, and a progress line for phases that take
 * long. Functions for what a program cannot do without end the program, after one line, if they
 * fail: callers have no error to return and nothing to clean up. */
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

/* Prints "prefix: text" and a line end on stderr. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message() and ends the program. */
void end_with(enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Does nothing if a CUDA call has succeeded. Otherwise ends the program with a message: what was
 * being done (the format), the name of the error and CUDA's text for it. */
void cuda_check(cudaError_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory for `count` elements of `size` bytes, all 0, which the caller frees. */
void *allocate(size_t count, size_t size);

/* Writes out what was printed on stdout. Returns the program's exit status: the one given, or
 * STATUS_FAILED with a message if that was STATUS_VERIFIED and the output could not be written. */
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

/* A phase of known length. On a terminal it shows a line that is rewritten in place, with the time
 * left; otherwise one plain line, and only if the phase takes more than two seconds. `what` names
 * it, and must outlive it. */
typedef struct progress {
    const char *what;
    double start, last_shown;
    bool shown;
} progress;
void progress_begin(progress *progress, const char *what);

/* Shows how much of the phase is done, 0 to 1. Call it as often as you like: it prints rarely. */
void progress_update(progress *progress, double fraction_done);

/* Clears the line, if there is one; the next update draws it again. */
void progress_hide(const progress *progress);

#ifdef __cplusplus
}
#endif
