// What a trace needs of the GPU: its clock. The emulator has a header of the same name.
//
// No thread notices when a load lands, except one that already waits for it. A consumer that waits
// later only sees that the load has landed at some time.
#pragma once

#include "device/barrier.cuh"
#include "trace/events.h"

namespace trace {

// The line of the rung that calls: the last, defaulted argument of every hook.
using Site = int;
#define TRACE_HERE __builtin_LINE()
DEVICE uint32_t line_of(Site where) { return uint32_t(where); }

// Calls the function that a hook replaces.
#define TRACE_FORWARD(function, ...) function(__VA_ARGS__)

// The multiprocessor's clock, in cycles. All warps of a CTA read the same one. (PTX ISA: %clock)
DEVICE uint32_t now() {
    uint32_t time;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(time)::"memory");
    return time;
}

// Writes the time, unless `place` is nullptr. One instruction to the compiler, which unrolls a
// rung's loops as it does without it, and keeps accumulators in registers.
DEVICE void note_time(uint32_t *place) {
    asm volatile("{\n"
                 ".reg .pred wanted;\n"
                 ".reg .b32 time;\n"
                 "setp.ne.u64 wanted, %0, 0;\n"
                 "mov.u32 time, %%clock;\n"
                 "@wanted st.global.b32 [%0], time;\n"
                 "}" ::"l"(place));
}

DEVICE void note_write(uint32_t *place) { note_time(place); }

// The same of a word.
DEVICE void note_word(uint32_t *place, uint32_t word) {
    asm volatile("{\n"
                 ".reg .pred wanted;\n"
                 "setp.ne.u64 wanted, %0, 0;\n"
                 "@wanted st.global.b32 [%0], %1;\n"
                 "}" ::"l"(place),
                 "r"(word));
}

// Notes the operands of a wgmma, unless `warp` is nullptr. To count them would take a load for
// each: a group is complete when the warp has waited for it, however many there are.
DEVICE void note_wgmma(trace_warp *warp, uint32_t operands) {
    note_word(warp == nullptr ? nullptr : &warp->operands, operands);
}

// Whether the pointer is one into shared memory.
DEVICE bool is_shared(const void *address) { return __isShared(address); }

} // namespace trace
