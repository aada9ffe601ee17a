/* What one launch of a traced rung recorded about one of its CTAs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emulator/emulator.h"
#include "harness/json.h"
#include "trace/events.h"

enum { TRACE_MOST_WARPS = 32 };

typedef struct trace {
    const char *order; /* the emulator's policy; NULL on a GPU */
    uint32_t grid[3];  /* CTAs */
    uint32_t block[3]; /* threads of one */
    uint32_t cta[3];   /* the blockIdx of the one that was traced */
    uint64_t number;   /* the same, counted from 0, x fastest */
    uint64_t ctas;
    uint32_t capacity;                 /* events of a warp that were kept */
    trace_warp warp[TRACE_MOST_WARPS]; /* those of the CTA */
    trace_event *event;                /* [warps][capacity], in the order in which they ended */
    size_t operations;
    emulator_operation *operation; /* [operations], in the order in which they happened */
} trace;

/* How many warps the CTA has. */
size_t trace_warps(const trace *trace);

/* Prints which CTA it is, how much is there and what is not. */
void trace_print(FILE *out, const trace *trace);

/* Writes all of it, into an object that the caller begins and ends; times count from the earliest
 * one. */
void trace_write(json *json, const trace *trace);
