// The time of day on an SM: what common/device does not have, since no rung looks at a clock.
#pragma once

#include "device/base.cuh"

// The clock that all SMs share, in nanoseconds. (PTX ISA: Special Registers, %globaltimer.)
DEVICE uint64_t nanoseconds() {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

// Returns at that time; asleep until then, so that the looking costs little.
DEVICE void wait_until(uint64_t time) {
    constexpr int NAP = 64; // nanoseconds
    while (nanoseconds() < time)
        __nanosleep(NAP);
}
