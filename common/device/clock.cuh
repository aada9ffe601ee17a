// What tells a thread when and where it runs: clocks, and its SM.
#pragma once

#include "device/base.cuh"

// The clock that all SMs share, in nanoseconds. (PTX ISA: Special Registers, %globaltimer.)
DEVICE uint64_t nanoseconds() {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

// The cycles of the calling thread's SM. (PTX ISA: Special Registers, %clock64.)
DEVICE uint64_t cycles() {
    uint64_t count;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(count)::"memory");
    return count;
}

// The SM that the calling thread runs on. (PTX ISA: Special Registers, %smid.)
DEVICE int sm_index() {
    int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}
