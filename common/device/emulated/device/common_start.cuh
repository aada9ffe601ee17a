// The emulator has no time to agree on: what runs when is its policy's choice, and a rung has to be
// right in any order. So a common start comes at once.
#pragma once

#include "device/base.cuh"

// red.max of %clock64.
DEVICE void note_cycles(uint64_t *, int = 0) {}

// Nothing to wait for.
DEVICE void wait_after(const uint64_t *, int) {}

// A report that no CTA reads, and no wait.
struct CommonStart {
    uint64_t *latest;

    DEVICE void report(uint64_t *) {}
    DEVICE void wait() const {}
};
