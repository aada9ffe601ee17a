// Records events: which threads do, and where.
#pragma once

#include <stddef.h>

#include "device/base.cuh"
#include "trace/events.h"
#include "trace/machine.cuh"

namespace trace {

// What this launch is to record.
__constant__ trace_control control;

// One warp in this many records: 4 where the warps of a warpgroup do the same.
#ifndef TRACE_WARPS
#define TRACE_WARPS 1
#endif

// Whether the calling thread records: lane 0 of a warp of the traced CTA. No other thread of the
// warp does.
DEVICE bool on() {
    return threadIdx.x % (WARP_THREADS * TRACE_WARPS) == 0 && control.warps != nullptr &&
           blockIdx.x == control.cta[0] && blockIdx.y == control.cta[1] &&
           blockIdx.z == control.cta[2];
}

// The functions below are for a thread that writes.

// The number of the calling thread's warp.
DEVICE int my_number() { return int(threadIdx.x) / WARP_THREADS; }

// The room of that warp.
DEVICE trace_warp &my_warp() { return control.warps[my_number()]; }

// Records an event, if there is room left, after the results that were written before it: of these
// only the last time is known.
DEVICE void append(const trace_event &event) {
    trace_warp &warp = my_warp();
    const trace_event results = {warp.wrote, warp.wrote, TRACE_WRITE};
    for (int i = warp.wrote == 0; i < 2; ++i, ++warp.events)
        if (warp.events < control.capacity)
            control.events[size_t(my_number()) * control.capacity + warp.events] =
                i == 0 ? results : event;
    warp.wrote = 0;
}

// Records an event that began at `begin` and ends now.
DEVICE void write(uint32_t what, uint32_t begin, Site where, uint32_t address = TRACE_NOWHERE,
                  uint32_t value = 0, uint32_t other = TRACE_NOWHERE, uint32_t extra = 0) {
    append({begin, now(), what, line_of(where), address, other, value, extra});
}

// For every thread: notes that it writes results, which is done many times in a row. One store, no
// wait and no branch, for loops that the compiler has to unroll by itself.
DEVICE void wrote() { note_write(on() ? &my_warp().wrote : nullptr); }

} // namespace trace
