// cp.async: per-thread asynchronous copies of 4, 8 or 16 bytes from global to shared memory, in
// groups. (PTX ISA: cp.async.)
#pragma once

#include "emulator/site.h"

namespace emulator {

// Starts one copy: `bytes` 4, 8 or 16, both addresses aligned to it (else MISUSE); the first
// `source_bytes` come from global memory, the rest are zeros. The destination must not be read
// before the wait; it is seen by other threads only after a barrier behind that.
void cp_async(void *shared, const void *global, int bytes, int source_bytes, Site where);
void cp_async_commit(Site where);
// Until at most `pending` of the thread's groups are incomplete.
void cp_async_wait(int pending, Site where);

} // namespace emulator
