// The clock that all SMs share, for kernels of the harness.
#pragma once

// Nanoseconds. (PTX ISA: Special Registers, %globaltimer.)
__device__ inline unsigned long long nanoseconds() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}
