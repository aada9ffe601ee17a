// Named barriers: 16 hardware barriers per CTA, for a part of its threads. Id 0 is __syncthreads.
#pragma once

#include "device/base.cuh"

// Waits until `threads` threads (a multiple of 32, whole warps) have come to barrier `id`, and
// orders their shared- and global-memory accesses before it with those after it.
// (PTX ISA: bar.sync.)
DEVICE void named_barrier_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
