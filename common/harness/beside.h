/* A run in a process of its own, beside one in this process. */
#pragma once

#include <stdbool.h>

/* Runs first(context), and beside it second(context), whose output is held back: it is printed only
 * if the first one was right, so that the output is that of one after the other. False if one is
 * wrong. Ends the program as second() ended its process. */
bool run_beside(bool (*first)(void *context), bool (*second)(void *context), void *context);
