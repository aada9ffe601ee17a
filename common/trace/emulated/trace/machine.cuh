// What a trace asks of the emulator. Its clock counts emulated steps: the begin and the end of
// every event of the traced CTA is one, and so is every TMA copy and wgmma that is started or
// happens. It tells what came before what; a length means nothing.
#pragma once

#include "device/barrier.cuh"
#include "trace/events.h"

#include "emulator/site.h"
#include "emulator/runtime.h"

namespace trace {

// The line of the rung that calls; the emulator's reports want its file as well.
using Site = emulator::Site;
#define TRACE_HERE emulator::Site::current()
DEVICE uint32_t line_of(Site where) { return where.line(); }

// The emulator's reports name the line of the rung, not of the hook.
#define TRACE_FORWARD(function, ...) function(__VA_ARGS__ __VA_OPT__(, ) where)

// The next step.
DEVICE uint32_t now() { return emulator::next_step(); }

// What is done many times in a row is one step.
DEVICE void note_write(uint32_t *place) {
    if (place != nullptr)
        *place = *place == 0 ? now() : emulator::last_step();
}
DEVICE void note_time(uint32_t *place) {
    if (place != nullptr)
        *place = now();
}
// They are counted: which operations of the tensor cores a group is made of is told by their
// number.
DEVICE void note_wgmma(trace_warp *warp, uint32_t operands) {
    if (warp != nullptr) {
        warp->operands = operands;
        ++warp->wgmmas;
    }
}

// Whether the pointer is one into the CTA's shared memory.
DEVICE bool is_shared(const void *address) { return emulator::is_shared(address); }

} // namespace trace
