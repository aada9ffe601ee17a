/* The device that runs everything: a GPU, or the emulator of one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "step.h"

enum { MOST_OTHERS = 8 };

/* What is unknown is 0, NAN or empty: on the emulator most of it. */
typedef struct device_info {
    bool emulated;
    char name[256];
    char card[16];          /* "1f2e3d4c": which of its kind */
    int compute_capability; /* 90 means 9.0 */
    int sms;
    size_t shared_memory_bytes; /* the most that a CTA can have */
    size_t l2_bytes;
    size_t memory_bytes;
    double memory_bytes_per_second; /* that its clock and the width of its bus allow */
    double power_limit_watts;
    double default_power_watts;  /* the limit that this kind of card is sold with */
    int others;                  /* processes that computed on it when it was taken */
    char other[MOST_OTHERS][48]; /* "4711 python3" */
    bool draws;                  /* a display waits for it: the driver ends long kernels */
    bool under_windows;          /* WSL */
    char driver[80];             /* "580.65.06" */
    char cuda[16];               /* "13.0", of the runtime that is linked in */
    char cublas[32];             /* "13.1.0" */
} device_info;

typedef struct device {
    struct CUstream_st *stream; /* all work goes here */
    device_info info;
} device;

/* Takes GPU number index, or the emulator, until the program ends. Ends the program if the device
 * cannot run the step; the emulator runs every step unless EMULATOR_CAPABILITY names its card. */
void device_open(const step *step, int index, device *device);

/* Ends the program if this device cannot run the step. */
void device_check(const step *step, const device_info *info);

/* Called by device/launch.cuh, for what only a launch knows. Ends the program. */
void step_cannot_run(const char *why) __attribute__((noreturn));

/* Ends the program with a line that says what the step needs, `why` it cannot run here and what to
 * do instead. */
void device_cannot_run(const step *step, const char *why) __attribute__((noreturn));

/* Bytes that can be allocated now. */
size_t device_free_bytes(void);

/* Waits for all work; what names it in the message if any of it failed. */
void device_wait(const device *device, const char *what);
