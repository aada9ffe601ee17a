// Clocks that move on whenever they are looked at. They are no memory of the kernel's.
#pragma once

#include "device/base.cuh"

#include "emulator/ptx.h"

__attribute__((noinline, no_sanitize("thread"))) static uint64_t nanoseconds() {
    static uint64_t time = 0;
    return time += 1000;
}

DEVICE uint64_t cycles() { return nanoseconds(); }
DEVICE int sm_index() { return int(emulator::ptx::smid()); }
