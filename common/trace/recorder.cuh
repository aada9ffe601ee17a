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

// Writes the event of that number down, if there is room left.
DEVICE void keep(uint32_t number, const trace_event &event) {
    if (number < control.capacity)
        control.events[size_t(my_number()) * control.capacity + number] = event;
}

// A rung that never waits has no events between its accesses: there, an access is recorded when one
// of another kind is made, and has a begin.
#ifndef TRACE_NEVER_WAITS
#define TRACE_NEVER_WAITS 0
#endif

// Records the accesses of one kind since the last event, if there were any.
DEVICE void flush(trace_warp &warp, uint32_t kind) {
    const trace_touch touch = warp.touch[kind];
    if (touch.mark == 0)
        return;
    const uint32_t begin = TRACE_NEVER_WAITS ? warp.fence : touch.time;
    keep(warp.events++,
         {begin, touch.time, TRACE_FIRST_TOUCH + kind, 0, touch.mark & ~TRACE_TOUCHED, 0, 0, 0});
    warp.touch[kind].mark = 0;
}

// The same of all kinds. Warpgroups only write results by themselves.
DEVICE void flush(trace_warp &warp) {
    constexpr uint32_t FIRST = TRACE_WARPS == 1 ? 0 : uint32_t(TRACE_WRITE) - TRACE_FIRST_TOUCH;
#pragma unroll 1
    for (uint32_t kind = FIRST; kind < TRACE_TOUCHES; ++kind)
        flush(warp, kind);
}

// Records an event, after the accesses before it.
DEVICE void append(const trace_event &event) {
    trace_warp &warp = my_warp();
    if ((warp.touch[0].mark | warp.touch[1].mark | warp.touch[2].mark) != 0)
        flush(warp);
    keep(warp.events++, event);
}
static_assert(TRACE_TOUCHES == 3, "append() looks at all of them");

// Records an event that began at `begin` and ends now.
DEVICE void write(uint32_t what, uint32_t begin, Site where, uint32_t address = TRACE_NOWHERE,
                  uint32_t value = 0, uint32_t other = TRACE_NOWHERE, uint32_t extra = 0) {
    append({begin, now(), what, line_of(where), address, other, value, extra});
}

// The functions below are for every thread.

// Records the earlier accesses of other kinds, and when this one began. For a rung that never
// waits.
DEVICE void begin_touch(uint32_t what) {
    trace_warp &warp = my_warp();
    uint32_t others = 0;
    for (uint32_t i = 0; i < TRACE_TOUCHES; ++i)
        others |= i == what - TRACE_FIRST_TOUCH ? 0 : warp.touch[i].mark;
    if (others != 0)
        flush(warp);
    if (warp.touch[what - TRACE_FIRST_TOUCH].mark == 0)
        warp.fence = now();
}

// Notes an access that is made many times in a row: one store, and no wait.
DEVICE void touch(uint32_t what, uint32_t address = TRACE_NOWHERE) {
    if (!on())
        return;
    if (TRACE_NEVER_WAITS)
        begin_touch(what);
    note(&my_warp().touch[what - TRACE_FIRST_TOUCH], TRACE_TOUCHED | address);
}

// The same without a branch, for loops that the compiler has to unroll by itself.
DEVICE void touch_in_line(uint32_t what) {
    note(on() ? &my_warp().touch[what - TRACE_FIRST_TOUCH] : nullptr, TRACE_TOUCHED);
}

// The shared address of what a thread reads or writes, NOWHERE for global memory.
DEVICE uint32_t place_of(const void *address) {
    return is_shared(address) ? shared_address(address) : uint32_t(TRACE_NOWHERE);
}

} // namespace trace
