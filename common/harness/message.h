/* One-line messages on stderr, and a progress line for phases that take long. */
#ifndef GEMM_LADDER_HARNESS_MESSAGE_H
#define GEMM_LADDER_HARNESS_MESSAGE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every later message starts with "prefix: ". The string must outlive the messages. */
void message_prefix(const char *prefix);

/* Prints "prefix: text" and a line end on stderr. */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes out what was printed on stdout. Returns the program's exit status: the one given, or
 * STATUS_FAILED with a message if that was STATUS_VERIFIED and the output could not be written. */
int output_end(int status);

/* Seconds on a clock that only goes forward. */
double monotonic_seconds(void);

/* A phase of known length. On a terminal it shows a line that is rewritten in place, with the time
 * left; otherwise one plain line, and only if the phase takes more than two seconds. */
typedef struct progress {
    const char *what;
    double start;
    double last_shown;
    bool shown;
} progress;

/* Starts a phase. what names it, and must outlive it. */
void progress_begin(progress *progress, const char *what);

/* Shows how much of the phase is done, 0 to 1. Call it as often as you like: it prints rarely. */
void progress_update(progress *progress, double fraction_done);

/* Clears the line, if there is one; the next update draws it again. */
void progress_hide(const progress *progress);

/* Ends the phase and clears its line. */
void progress_end(progress *progress);

#ifdef __cplusplus
}
#endif

#endif
