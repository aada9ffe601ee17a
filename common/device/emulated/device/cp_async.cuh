// The emulator's cp.async: copies are started here and happen when the policy says, at the latest
// in the wait.
#pragma once

#include "device/shared_memory.cuh"

#include "emulator/cp_async.h"

// cp.async.cg.
DEVICE void cp_async_cg(void *shared, const void *global, int source_bytes = 16, EMULATOR_SITE) {
    emulator::cp_async({shared, where}, global, source_bytes, where);
}

// Closes the thread's open group.
DEVICE void cp_async_commit(EMULATOR_SITE) { emulator::cp_async_commit(where); }

// The thread waits until its older groups have landed.
template <int PENDING>
DEVICE void cp_async_wait(EMULATOR_SITE) {
    emulator::cp_async_wait(PENDING, where);
}
