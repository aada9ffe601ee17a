#include "harness/message.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *message_start = "gemm-ladder";

void message_prefix(const char *prefix) { message_start = prefix; }

static void print_line(const char *format, va_list arguments) {
    fflush(stdout);
    fprintf(stderr, "%s: ", message_start);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void end_with(enum exit_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    exit(output_end(status));
}

void cuda_check(cudaError_t status, const char *format, ...) {
    if (status != cudaSuccess) {
        char what[256];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(what, sizeof what, format, arguments);
        va_end(arguments);
        end_with(STATUS_FAILED, "%s failed: %s: %s", what, cudaGetErrorName(status),
                 cudaGetErrorString(status));
    }
}

void *allocate(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        end_with(STATUS_FAILED, "no memory for %.3g bytes", (double)count * (double)size);
    }
    return memory;
}

int output_end(int status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return status;
    }
    message("cannot write its output: %s", strerror(errno));
    return status == STATUS_VERIFIED ? STATUS_FAILED : status;
}

double monotonic_seconds(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sleep_seconds(double seconds) {
    nanosleep(&(struct timespec){(time_t)seconds, (long)(1e9 * fmod(seconds, 1))}, NULL);
}

static volatile sig_atomic_t interrupt = 0;
static void (*before_interrupt)(int);

static void on_interrupt(int signal_number) {
    signal(signal_number, SIG_DFL);
    interrupt = 1;
}

void interrupt_catch(void) {
    interrupt = 0;
    before_interrupt = signal(SIGINT, on_interrupt);
}

bool interrupted(void) { return interrupt != 0; }

void interrupt_release(void) { signal(SIGINT, before_interrupt); }

void progress_begin(progress *progress, const char *what) {
    const double now = monotonic_seconds();
    *progress = (struct progress){.what = what, .start = now, .last_shown = now};
}

void progress_update(progress *progress, double fraction_done) {
    static const double REDRAW_SECONDS = 0.2;
    const double now = monotonic_seconds();
    const double left = (now - progress->start) * (1 - fraction_done) / fraction_done;
    if (isatty(STDERR_FILENO) && fraction_done > 0 && fraction_done < 1 &&
        now - progress->last_shown >= REDRAW_SECONDS) {
        fflush(stdout);
        /* The cursor goes back: what else is printed starts at the line's beginning. */
        fprintf(stderr, "\r  %s: %.0f %%, %.0f s left\033[K\r", progress->what, 100 * fraction_done,
                left);
        progress->last_shown = now;
    }
}

void progress_hide(const progress *progress) {
    if (progress->last_shown > progress->start) {
        fputs("\r\033[K", stderr);
    }
}
