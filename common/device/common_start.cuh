// A common start: CTAs that run at the same time begin their tiles at the same moment, without a
// barrier. The wgmmas then keep them in step, so that CTAs which share operands ask the L2 for them
// together, and requests of SMs of one GPC merge.
#pragma once

#include "device/clock.cuh"
#include "device/shared_memory.cuh"

// Writes the SM's cycles, less `ahead`, to shared memory if they are more than what is there: a
// consumer that is about to multiply reads its own SM's clock, not the one that all share. Relaxed,
// since no data goes with them. (PTX ISA: red, Memory Consistency Model.)
DEVICE void note_cycles(uint64_t *where, int ahead = 0) {
    asm volatile("red.relaxed.cta.shared::cta.max.u64 [%0], %1;" ::"r"(shared_address(where)),
                 "l"(cycles() - ahead)
                 : "memory");
}

// What note_cycles() left there. (PTX ISA: ld.)
DEVICE uint64_t noted_cycles(const uint64_t *where) {
    uint64_t noted;
    asm volatile("ld.relaxed.cta.shared::cta.u64 %0, [%1];"
                 : "=l"(noted)
                 : "r"(shared_address(where))
                 : "memory");
    return noted;
}

// Returns `count` cycles after those.
DEVICE void wait_after(const uint64_t *where, int count) {
    const uint64_t end = noted_cycles(where) + count;
    while (cycles() < end) {
    }
}

// Of one thread of each CTA. Every CTA reports when it expects to be ready for its next tile, and
// all begin when the last of them is. Nothing but time depends on it: a report that comes late is
// not waited for, none is counted, and *latest is never cleared, because times only grow.
struct CommonStart {
    // In nanoseconds:
    static constexpr int FIRST = 2000;    // from a launch until its first k-tile has been loaded
    static constexpr int LATER = 4500;    // from a report until the CTA is ready, until measured
    static constexpr int LONGEST = 10000; // a start that is farther off is not of this tile
    static constexpr int POLL = 500;      // one look at *latest

    uint64_t *latest;   // in device memory: the latest start that a CTA has reported
    uint64_t time = 0;  // of this CTA's last report ...
    uint64_t cycle = 0; // ... by the SM's clock
    int tiles = 0;      // that it has reported

    // Reports the next tile. *ready is the cycle at which the CTA was ready for the tile before: it
    // takes as long again. The first tile's is left out, which nothing kept it from. (PTX ISA:
    // red.)
    DEVICE void report(uint64_t *ready) {
        const uint64_t last_time = time, last_cycle = cycle;
        const uint64_t was_ready = noted_cycles(ready);
        time = nanoseconds();
        cycle = cycles();
        uint64_t lag = tiles > 0 ? LATER : FIRST;
        if (tiles++ > 1)
            lag = (was_ready - last_cycle) * (time - last_time) / (cycle - last_cycle);
        if (lag > LONGEST) // it was interrupted
            lag = LATER;
        asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(latest), "l"(time + lag)
                     : "memory");
    }

    // Returns at the common start. While that is far off, a CTA may still move it. (PTX ISA: ld.)
    DEVICE void wait() const {
        uint64_t start;
        do {
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                         : "=l"(start)
                         : "l"(latest)
                         : "memory");
            if (start > time + LONGEST)
                return;
        } while (nanoseconds() + POLL < start);
        while (nanoseconds() < start) {
        }
    }
};
