// Arrivals of CTAs on a counter in global memory.
#pragma once

#include "device/base.cuh"

// Counts the calling thread's arrival, and returns how many there were before. Release: a
// thread that arrives later sees what the caller, and what threads before a barrier with it, wrote.
// Acquire: the caller sees what earlier arrivals published. (PTX ISA: atom, .acq_rel, .gpu scope;
// Memory Consistency Model.)
DEVICE int count_arrival(int *counter) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(counter)
                 : "memory");
    return before;
}
