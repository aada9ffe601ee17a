// cp.async: each thread copies a few bytes from global to shared memory without holding them in
// registers, and continues; compute capability 8.0 and later. A thread waits for its own copies, in
// groups. The wait makes them visible to that thread; other threads see them after a barrier that
// follows the wait. (PTX ISA: Data Movement and Conversion Instructions: cp.async.)
#pragma once

#include "device/shared_memory.cuh"

// Starts the copy of 16 bytes, both addresses 16-byte aligned, through the L2, bypassing the L1.
// Only the first `source_bytes` of the source are read; the rest becomes zeros. (PTX ISA:
// cp.async.cg)
DEVICE void cp_async_cg(void *shared, const void *global, int source_bytes = 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
                 "l"(global), "r"(source_bytes)
                 : "memory");
}

// Closes the calling thread's group: the copies it started since the last commit. (PTX ISA:
// cp.async.commit_group)
DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `PENDING` of the calling thread's latest groups are incomplete. (PTX ISA:
// cp.async.wait_group)
template <int PENDING>
DEVICE void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
