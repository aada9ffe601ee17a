// What a thread remembers of its copies (cp_async.h).
#pragma once

#include "emulator/races.h"
#include "emulator/wait_queue.h"

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

} // namespace emulator
