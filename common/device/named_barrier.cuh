// Named barriers: 16 hardware barriers per CTA, for subsets of its threads. Id 0 is __syncthreads.
#pragma once

#include "device/base.cuh"

// Waits until `threads` threads (a multiple of 32, whole warps) have come to barrier `id`, and
// orders their shared- and global-memory accesses before it with those after it. bar.sync is
// .aligned: all lanes of a warp must execute it together. A lane may come late from a branch of its
// own, so the warp reconverges first. (PTX ISA: bar.sync, bar.warp.sync.)
DEVICE void named_barrier_sync(int id, int threads) {
    __syncwarp();
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
