// What a trace needs of the GPU: its clocks, the multiprocessor of a thread, and whether loads have
// landed. The emulator has a header of the same name.
//
// No thread notices when a load lands, except one that already waits for it. A consumer that waits
// later only sees that the load has landed at some time. So a producer polls its loads while it
// waits.
#pragma once

#include "device/barrier.cuh"
#include "device/clock.cuh"
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

// The wall clock, in nanoseconds; its steps are coarse.
DEVICE uint64_t wall_clock() { return nanoseconds(); }

// The multiprocessor that the calling thread runs on. (PTX ISA: %smid)
DEVICE uint32_t multiprocessor() {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

// Writes the time and a word to `touch`, unless that is nullptr. One instruction to the compiler,
// which unrolls a rung's loops as it does without it, and keeps accumulators in registers.
DEVICE void note(trace_touch *touch, uint32_t mark) {
    asm volatile("{\n"
                 ".reg .pred wanted;\n"
                 ".reg .b32 time;\n"
                 "setp.ne.u64 wanted, %0, 0;\n"
                 "mov.u32 time, %%clock;\n"
                 "@wanted st.global.v2.b32 [%0], {time, %1};\n"
                 "}" ::"l"(touch),
                 "r"(mark));
}

// The same of the time alone.
DEVICE void note_time(uint32_t *place) {
    asm volatile("{\n"
                 ".reg .pred wanted;\n"
                 ".reg .b32 time;\n"
                 "setp.ne.u64 wanted, %0, 0;\n"
                 "mov.u32 time, %%clock;\n"
                 "@wanted st.global.b32 [%0], time;\n"
                 "}" ::"l"(place));
}

// The same of the word alone.
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

// Whether the token's phase has completed. (PTX ISA: mbarrier.test_wait)
DEVICE bool has_completed(uint32_t barrier, uint64_t token) {
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(done)
                 : "r"(barrier), "l"(token)
                 : "memory");
    return done != 0;
}

// Whether the phase of this parity has completed. (PTX ISA: mbarrier.test_wait.parity)
DEVICE bool has_completed(uint64_t *barrier, int parity) {
    uint32_t done;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
    return done != 0;
}

// Looks at the oldest loads of the warp. True if they were seen to have landed: then `seen(barrier,
// when last seen incomplete, now)` was called, and the next ones are the oldest.
template <typename Seen>
DEVICE bool look(trace_warp &warp, Seen seen) {
    if (warp.flown == warp.flights)
        return false;
    trace_flight &oldest = warp.flight[warp.flown % TRACE_FLIGHTS];
    const uint32_t before = now();
    if (!has_completed(oldest.barrier, oldest.token)) {
        oldest.seen = before;
        return false;
    }
    seen(oldest.barrier, oldest.seen, now());
    ++warp.flown;
    return true;
}

// An arrival that announces bytes; from now on the warp watches them.
template <typename Seen>
DEVICE uint64_t arrive_expect(trace_warp &warp, uint64_t *barrier, int bytes, Seen seen, Site) {
    // A thread that announces a phase's bytes knows that the phase before is complete. A token is
    // invalid once the phase after its own is complete.
    while (look(warp, seen))
        continue;
    if (warp.flights - warp.flown == TRACE_FLIGHTS)
        ++warp.flown; // no poll saw them land
    const uint64_t token = reinterpret_cast<Barrier *>(barrier)->arrive_tx(bytes);
    warp.flight[warp.flights++ % TRACE_FLIGHTS] = {token, shared_address(barrier), now()};
    return token;
}

// Waits for a phase, and polls the warp's loads meanwhile.
template <typename Seen>
DEVICE void wait(trace_warp &warp, uint64_t *barrier, int parity, Seen seen, Site) {
    while (!has_completed(barrier, parity))
        look(warp, seen);
    while (look(warp, seen))
        continue;
}
template <typename Seen>
DEVICE void wait_token(trace_warp &warp, uint64_t *barrier, uint64_t token, Seen seen, Site) {
    while (!has_completed(shared_address(barrier), token))
        look(warp, seen);
    while (look(warp, seen))
        continue;
}

} // namespace trace
