// cp.async: per-thread asynchronous copies of 4, 8 or 16 bytes from global to shared memory, in
// groups. (PTX ISA: cp.async.)
#pragma once

#include "emulator/races.h"
#include "emulator/report.h"
#include "emulator/wait_queue.h"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace emulator {

struct CopyGroup {
    int missing = 0;   // copies that have not happened yet
    races::Token done; // released by each copy
};

// A thread's side of cp.async. Groups are numbered in the order of their commits; those that it
// has waited for are forgotten.
struct CopyGroups {
    CopyGroup open;                  // not committed yet
    std::deque<CopyGroup> committed; // oldest first
    std::uint64_t first = 0;         // number of committed.front()
    WaitQueue waiting;               // the thread itself
};

// Starts one copy: `bytes` 4, 8 or 16, both addresses aligned to it (else MISUSE); the first
// `source_bytes` come from global memory, the rest are zeros. The destination must not be read
// before the wait; it is seen by other threads only after a barrier behind that.
void cp_async(void *shared, const void *global, int bytes, int source_bytes, Site where);
void cp_async_commit(Site where);
// Until at most `pending` of the thread's groups are incomplete.
void cp_async_wait(int pending, Site where);
// cp.async.wait_all.
void cp_async_wait_all(Site where);

} // namespace emulator
