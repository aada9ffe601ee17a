/* A run in a process of its own, beside what this process does. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* What a process prints on one stream until another one shows it. */
typedef struct held {
    FILE *stream, *file;
} held;

typedef struct beside {
    held held[2];
    pid_t process; /* negative: none could be had */
} beside;

/* Begins run(context), whose output is held back. It ends with this process. */
void beside_start(beside *beside, bool (*run)(void *context), void *context);

/* Waits for its end and prints what it printed. Ends the program as it ended, unless it was right.
 */
void beside_end(const beside *beside);
