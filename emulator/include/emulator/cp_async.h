// cp.async: per-thread asynchronous copies of 4, 8 or 16 bytes from global to shared memory, in
// groups. (PTX ISA: cp.async.)
#pragma once

#include "emulator/mbarrier.h"
#include "emulator/site.h"

#include <cstddef>

namespace emulator {

// Starts one copy: both addresses are aligned to its bytes (else MISUSE); the first `source_bytes`
// come from global memory, the rest are zeros. The destination must not be read before the wait;
// other threads see it only after a barrier that follows the wait.
void cp_async(SharedRef to, const void *global, int source_bytes, Site where, int bytes = 16);
void cp_async_commit(Site where);
// Waits until at most `pending` of the thread's groups are incomplete.
void cp_async_wait(int pending, Site where);

// cp.async.mbarrier.arrive: the thread's copies so far arrive on the barrier once all have landed.
// `counted`: the barrier's count has this arrival (.noinc); else the phase gets one more.
void cp_async_mbarrier_arrive(SharedRef barrier, bool counted, Site where);

} // namespace emulator
