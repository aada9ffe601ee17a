// The emulator's cp.async: copies are started here and happen when the policy says, at the latest
// in the wait.
#pragma once

#include "device/shared_memory.cuh"

#include "emulator/cp_async.h"

// cp.async.cg.
DEVICE void cp_async_cg(void *shared, const void *global, int source_bytes = 16,
                        emulator::Site where = emulator::Site::current()) {
    emulator::cp_async(shared, global, 16, source_bytes, where);
}

// cp.async.ca.
template <int BYTES>
DEVICE void cp_async_ca(void *shared, const void *global, int source_bytes = BYTES,
                        emulator::Site where = emulator::Site::current()) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    emulator::cp_async(shared, global, BYTES, source_bytes, where);
}

// Closes the thread's open group.
DEVICE void cp_async_commit(emulator::Site where = emulator::Site::current()) {
    emulator::cp_async_commit(where);
}

// The thread stands still until its older groups have landed ...
template <int PENDING>
DEVICE void cp_async_wait(emulator::Site where = emulator::Site::current()) {
    emulator::cp_async_wait(PENDING, where);
}

// ... or all of its copies.
DEVICE void cp_async_wait_all(emulator::Site where = emulator::Site::current()) {
    emulator::cp_async_wait_all(where);
}
